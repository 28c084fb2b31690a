package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// untar writes the files of an archive below a directory, without the first part of their names.
func untar(t *testing.T, text []byte, dir string) {
	t.Helper()
	packed, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for in := tar.NewReader(packed); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(h.Name, "/")
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, os.FileMode(h.Mode)); err != nil {
			t.Fatal(err)
		}
	}
}

// The package that people install asks for the packages with the programs by exactly their names and versions, and no
// package runs a script when it is installed.
func TestNPM_packages(t *testing.T) {
	r := testRelease(t)
	var names []string
	for _, tt := range targets {
		if err := r.writeNPMPlatform(tt, file{tt.program(), []byte("text"), 0o755}); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		untar(t, r.read(t, fmt.Sprintf("bossman-dev-bossman-%s-%s-1.2.3.tgz", tt.node().os, tt.node().arch)), dir)
		p := readPackage(t, dir)
		names = append(names, p.Name)
		if p.Version != "1.2.3" || p.Name != npmName+"-"+p.OS[0]+"-"+p.CPU[0] {
			t.Errorf("the package for %s is %+v", tt, p)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "bin", tt.program())); err != nil || string(text) != "text" {
			t.Errorf("the program for %s: %q, %v", tt, text, err)
		}
	}
	if err := r.writeNPM(targets); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	untar(t, r.read(t, "bossman-dev-bossman-1.2.3.tgz"), dir)
	p := readPackage(t, dir)
	for _, name := range names {
		if p.Dependencies[name] != "1.2.3" {
			t.Errorf("%s depends on %v, want %s 1.2.3", p.Name, p.Dependencies, name)
		}
	}
	if len(p.Dependencies) != len(names) || p.Bin["bossman"] != "bin/bossman.js" || p.MCPName != serverName {
		t.Errorf("%s = %+v", p.Name, p)
	}
}

func readPackage(t *testing.T, dir string) npmPackage {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var p npmPackage
	// An unknown member would be "scripts".
	if err := json.Unmarshal(text, &p, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	return p
}

// The launcher passes arguments, standard input and the exit code on, and a signal that ends it ends the program.
func TestNPM_launcher(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("needs node, and a program that is a script of the shell")
	}
	here := target{runtime.GOOS, runtime.GOARCH}
	r := testRelease(t)
	if err := errors.Join(r.writeNPM(targets), r.writeNPMPlatform(here, file{"bossman", []byte(`#!/bin/sh
case $1 in
wait) trap 'echo told; exit 7' TERM; echo ready; read line ;;
die) kill -KILL $$ ;;
*) read line; echo "$*: $line"; exit 3 ;;
esac
`), 0o755})); err != nil {
		t.Fatal(err)
	}
	modules := filepath.Join(t.TempDir(), "node_modules")
	launcher := filepath.Join(modules, npmName, "bin", "bossman.js")
	untar(t, r.read(t, "bossman-dev-bossman-1.2.3.tgz"), filepath.Join(modules, npmName))

	out, err := exec.Command(node, launcher).CombinedOutput()
	if err == nil || !strings.Contains(string(out), npmPlatform(here)+" is not installed") {
		t.Errorf("without the package for this system: %s, %v", out, err)
	}
	name := fmt.Sprintf("bossman-dev-bossman-%s-%s-1.2.3.tgz", here.node().os, here.node().arch)
	untar(t, r.read(t, name), filepath.Join(modules, npmPlatform(here)))

	cmd := exec.Command(node, launcher, "a b", "c")
	cmd.Stdin = strings.NewReader("hello\n")
	out, err = cmd.CombinedOutput()
	if string(out) != "a b c: hello\n" || cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("the launcher printed %q and ended with %v", out, err)
	}

	cmd = exec.Command(node, launcher, "die")
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Errorf("a program that was killed: %v", err)
	}

	cmd = exec.Command(node, launcher, "wait")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// If nobody tells the program, it goes on, and keeps its output open.
	if err := stdout.(*os.File).SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	ready := make([]byte, len("ready\n"))
	if _, err := io.ReadFull(stdout, ready); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(stdout)
	if err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	if err := cmd.Wait(); string(rest) != "told\n" || cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("after SIGTERM: %q, %v", rest, err)
	}
}
