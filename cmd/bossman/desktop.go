package main

import (
	"context"
	"runtime"

	"github.com/bossman-dev/bossman/git"
)

// openFile opens a file with the program of the desktop for it, if there is a desktop.
func (a *app) openFile(ctx context.Context, name string) {
	var program []string
	switch {
	case runtime.GOOS == "darwin":
		program = []string{"open"}
	case runtime.GOOS == "windows":
		program = []string{"rundll32", "url.dll,FileProtocolHandler"}
	case a.Getenv("DISPLAY") != "" || a.Getenv("WAYLAND_DISPLAY") != "":
		program = []string{"xdg-open"}
	default:
		return
	}
	cmd, err := git.ProgramsOutside().Command(ctx, program[0], append(program[1:], name)...) // the file has a link with the person's rights
	if err == nil && cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}
