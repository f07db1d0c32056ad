// Package view is the only package that prints. It shows plans, status, findings, tables and
// progress to people, or as JSON to programs.
//
// Every JSON answer is one object whose field "schema" is "v1". Fields are only added within a
// schema version. Lists are never null and have a stable order; times are RFC 3339 in UTC,
// sizes are bytes, durations are seconds. The shapes are documented at their types: [Plan],
// [Status], [Findings], [Version]. Progress as JSON is one [ProgressLine] object a line.
package view

// schema is the version of all JSON shapes.
const schema = "v1"
