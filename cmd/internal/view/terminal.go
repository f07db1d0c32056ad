package view

import (
	"os"

	"golang.org/x/term"
)

// IsTerminal says whether stream, a reader or a writer, is a terminal. A stream that wraps
// another may answer with a method IsTerminal() bool.
func IsTerminal(stream any) bool {
	switch s := stream.(type) {
	case interface{ IsTerminal() bool }:
		return s.IsTerminal()
	case *os.File:
		return term.IsTerminal(int(s.Fd()))
	}
	return false
}

// size is a terminal's width and height in cells. Zero is unknown.
type size struct{ width, height int }

// sizeOf asks for the size now; it changes when a person drags the window.
func sizeOf(stream any) size {
	switch s := stream.(type) {
	case interface{ size() size }:
		return s.size()
	case *os.File:
		if w, h, err := term.GetSize(int(s.Fd())); err == nil {
			return size{w, h}
		}
	}
	return size{}
}

// wantsColor says whether stream may be coloured: a terminal, unless NO_COLOR is set
// (https://no-color.org) or the terminal can do nothing.
func wantsColor(stream any) bool {
	return IsTerminal(stream) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
