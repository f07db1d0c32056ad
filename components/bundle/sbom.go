package bundle

import (
	"bytes"
	"cmp"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// billOfMaterials lists every artifact and every Go module linked into one, in
// CycloneDX 1.6 JSON. It has no serial number and no time: the same bundle has
// the same bill. A module's checksum is the h1 sum of go.sum.
func billOfMaterials(m Manifest, records []*record) ([]byte, error) {
	libraries := map[string]cdx.Component{}
	dependencies := map[string][]string{}
	var components []cdx.Component
	for _, r := range records {
		ref := "artifact:" + r.Artifact.Name
		components = append(components, artifactComponent(ref, r.Artifact))
		for _, module := range append(r.Modules, standardLibrary(r.Go)) {
			library := moduleComponent(module)
			libraries[library.BOMRef] = library
			dependencies[ref] = append(dependencies[ref], library.BOMRef)
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(libraries)) {
		components = append(components, libraries[ref])
	}
	root := "bundle:" + bundleName(m.Kubernetes, m.OS, m.Arch)
	list := []cdx.Dependency{{Ref: root, Dependencies: new(slices.Sorted(maps.Keys(dependencies)))}}
	for _, ref := range slices.Sorted(maps.Keys(dependencies)) {
		list = append(list, cdx.Dependency{Ref: ref, Dependencies: new(slices.Sorted(slices.Values(dependencies[ref])))})
	}
	bom := cdx.NewBOM()
	bom.SpecVersion, bom.JSONSchema = cdx.SpecVersion1_6, "http://cyclonedx.org/schema/bom-1.6.schema.json"
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{Type: cdx.ComponentTypeApplication, BOMRef: root, Name: "clusterctl-bundle", Version: m.Kubernetes}}
	bom.Components, bom.Dependencies = &components, &list
	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func artifactComponent(ref string, a Artifact) cdx.Component {
	c := cdx.Component{Type: cdx.ComponentTypeApplication, BOMRef: ref, Group: a.Component, Name: a.Name, Version: a.Version,
		Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: a.SHA256}}}
	if a.Reference != "" {
		c.Type = cdx.ComponentTypeContainer
		c.Properties = &[]cdx.Property{{Name: "clusterctl:image", Value: a.Reference}, {Name: "clusterctl:imageDigest", Value: a.ImageDigest}}
	}
	return c
}

func moduleComponent(m *debug.Module) cdx.Component {
	used := cmp.Or(m.Replace, m)
	purl := "pkg:golang/" + used.Path + "@" + used.Version
	c := cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: purl, Name: used.Path, Version: used.Version, PackageURL: purl}
	if used.Sum != "" {
		c.Properties = &[]cdx.Property{{Name: "go:h1", Value: used.Sum}}
	}
	return c
}

// standardLibrary is the part of a program that comes with the toolchain.
func standardLibrary(version string) *debug.Module {
	return &debug.Module{Path: "std", Version: strings.TrimPrefix(version, "go")}
}
