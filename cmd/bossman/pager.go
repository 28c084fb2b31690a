package main

import (
	"context"
	"io"
	"os"

	"github.com/bossman-dev/bossman/git"
)

// page shows a text in the user's pager.
func page(command []string, text io.Reader) error {
	cmd, err := git.ProgramsOutside().Command(context.Background(), command[0], command[1:]...)
	if err != nil {
		return err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = text, os.Stdout, os.Stderr
	if os.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX") // a short text is only printed, and colours are shown
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_ = cmd.Wait() // its reader may leave before the end
	return nil
}
