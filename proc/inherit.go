package proc

import (
	"os"
	"os/exec"
)

// CloseInherited makes a child that was not started yet begin with its three standard
// files alone. Package os opens every file so that children do not inherit it, but this
// process may have inherited some itself, and C code may open more.
func CloseInherited(cmd *exec.Cmd) {
	cmd.ExtraFiles = make([]*os.File, inheritable()-2) // each nil is a descriptor to close
}
