// Command release builds what a release has, into a directory: an archive for each system with the program, completions
// and manual pages, an SBOM of each program, and SHA256SUMS. `make release` runs it.
//
// The same sources give the same bytes, wherever they are: paths are trimmed, nothing of the version control is in the
// program but the revision that is named, and archives have the time of SOURCE_DATE_EPOCH, or of the commit.
// With -verify the program for this machine is built a second time, from a copy of the sources in another directory and
// with an empty cache, and compared.
package main

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// targets are the systems of a release.
var targets = []target{
	{"linux", "amd64"},
	{"linux", "arm64"},
	{"darwin", "amd64"},
	{"darwin", "arm64"},
	{"windows", "amd64"},
	{"windows", "arm64"},
}

type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

// program is the name of the program's file.
func (t target) program() string {
	if t.os == "windows" {
		return "bossman.exe"
	}
	return "bossman"
}

func main() {
	out := flag.String("out", "dist", "the directory to write to")
	only := flag.String("only", "", "build for these systems only, such as linux/amd64,darwin/arm64")
	verify := flag.Bool("verify", false, "build the program for this machine twice, and compare; write nothing")
	flag.Parse()
	err := run(*out, *only, *verify)
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(out, only string, verify bool) error {
	r, err := newRelease(out)
	if err != nil {
		return err
	}
	if verify {
		return r.verify()
	}
	list := targets
	if only != "" {
		names := strings.Split(only, ",")
		list = slices.DeleteFunc(slices.Clone(targets), func(t target) bool { return !slices.Contains(names, t.String()) })
		if len(list) != len(names) {
			return fmt.Errorf("-only %s: want some of %v", only, targets)
		}
	}
	return r.build(list)
}

// A release is what is built.
type release struct {
	out      string
	version  string
	revision string // empty outside git
	time     time.Time
}

func newRelease(out string) (*release, error) {
	text, err := os.ReadFile("cmd/bossman/VERSION")
	if err != nil {
		return nil, fmt.Errorf("run it in the directory of the sources: %w", err)
	}
	r := &release{out: out, version: strings.TrimSpace(string(text)), time: time.Unix(0, 0).UTC()}
	if rev, err := exec.Command("git", "rev-parse", "HEAD").Output(); err == nil {
		r.revision = strings.TrimSpace(string(rev))
	}
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" && r.revision != "" {
		if at, err := exec.Command("git", "log", "-1", "--format=%ct").Output(); err == nil {
			epoch = strings.TrimSpace(string(at))
		}
	}
	if epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
		}
		r.time = time.Unix(seconds, 0).UTC()
	}
	return r, nil
}

// compile builds the program for a target from the sources in dir.
func (r *release) compile(dir string, t target, to string, env ...string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -buildid= -X main.release=yes -X main.revision="+r.revision, "-o", to, "./cmd/bossman")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stdout, os.Stderr
	// GOAMD64 and the like, and flags of the caller, would change the program.
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if name != "GOFLAGS" && name != "GOAMD64" && name != "GOARM64" && name != "GOEXPERIMENT" {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(append(cmd.Env, "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "GOTOOLCHAIN=local", "GOWORK=off"), env...)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build for %s: %w", t, err)
	}
	return nil
}

func (r *release) build(list []target) error {
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "bossman-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	files, err := r.common(work)
	if err != nil {
		return err
	}
	for _, t := range list {
		fmt.Println("release:", t)
		program := filepath.Join(work, t.os+"-"+t.arch, t.program())
		if err := r.compile(".", t, program); err != nil {
			return err
		}
		name := fmt.Sprintf("bossman_%s_%s_%s", r.version, t.os, t.arch)
		if err := r.writeSBOM(program, filepath.Join(r.out, name+".cdx.json")); err != nil {
			return err
		}
		all := append([]file{{t.program(), program, 0o755}}, files...)
		if t.os == "windows" {
			err = r.writeZip(filepath.Join(r.out, name+".zip"), name, all)
		} else {
			err = r.writeTar(filepath.Join(r.out, name+".tar.gz"), name, all)
		}
		if err != nil {
			return err
		}
	}
	return r.writeSums()
}

// common returns the files that are in every archive.
func (r *release) common(work string) ([]file, error) {
	files := []file{{"LICENSE", "LICENSE", 0o644}, {"README.md", "README.md", 0o644}, {"CHANGELOG.md", "CHANGELOG.md", 0o644}}
	here := target{runtime.GOOS, runtime.GOARCH}
	program := filepath.Join(work, "here", here.program())
	if err := r.compile(".", here, program); err != nil {
		return nil, err
	}
	dir := filepath.Join(work, "files")
	cmd := exec.Command(program, "release-files", dir)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("completions and manual pages: %w", err)
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		files = append(files, file{filepath.ToSlash(name), path, 0o644})
		return err
	})
	return files, err
}

// writeSums writes the checksums of everything that was written.
func (r *release) writeSums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(text), e.Name())
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), b.Bytes(), 0o644)
}

// verify builds the program for this machine in two directories, and compares.
func (r *release) verify() error {
	work, err := os.MkdirTemp("", "bossman-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	here := target{runtime.GOOS, runtime.GOARCH}
	copied := filepath.Join(work, "elsewhere", "sources")
	if err := copySources(".", copied); err != nil {
		return err
	}
	var sums [2][32]byte
	for i, dir := range []string{".", copied} {
		program := filepath.Join(work, fmt.Sprint("build", i), here.program())
		var env []string
		if i == 1 {
			env = append(env, "GOCACHE="+filepath.Join(work, "cache"))
		}
		if err := r.compile(dir, here, program, env...); err != nil {
			return err
		}
		text, err := os.ReadFile(program)
		if err != nil {
			return err
		}
		sums[i] = sha256.Sum256(text)
		fmt.Printf("release: %x  %s\n", sums[i], here)
	}
	if sums[0] != sums[1] {
		return fmt.Errorf("two builds for %s in different directories differ", here)
	}
	return nil
}

// copySources copies what a build reads.
func copySources(from, to string) error {
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != from && (strings.HasPrefix(name, ".") || slices.Contains([]string{"node_modules", "e2e", "bench", "bin", "dist"}, name)) {
			return filepath.SkipDir
		}
		target := filepath.Join(to, path)
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o644)
	})
}
