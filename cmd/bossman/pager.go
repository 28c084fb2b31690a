package main

import (
	"io"
	"os"
	"os/exec"
)

// page shows a text in the user's pager.
func page(command []string, text io.Reader) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = text, os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	if os.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX") // a short text is only printed, and colours are shown
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_ = cmd.Wait() // its reader may leave before the end
	return nil
}
