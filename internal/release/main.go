// Command release builds what a release has, into a directory. `make release` runs it; docs/release.md lists the files.
//
//	for each system     an archive with the program, completions and manual pages; an SBOM; an MCPB bundle;
//	                    an npm package; a Python wheel; for Linux, packages for Debian and Fedora
//	for all of them     the npm package that people install, server.json, install.sh, the Homebrew formula,
//	                    NOTES.md, SHA256SUMS
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
	"maps"
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

	licenseText []byte
}

func newRelease(out string) (*release, error) {
	text, err := os.ReadFile("cmd/bossman/VERSION")
	if err != nil {
		return nil, fmt.Errorf("run it in the directory of the sources: %w", err)
	}
	r := &release{out: out, version: strings.TrimSpace(string(text)), time: time.Unix(0, 0).UTC()}
	if r.licenseText, err = os.ReadFile("LICENSE"); err != nil {
		return nil, err
	}
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
		if err := r.buildTarget(t, work, files); err != nil {
			return err
		}
	}
	return r.finish(list)
}

// buildTarget writes what a release has for one system. The files are those of every archive.
func (r *release) buildTarget(t target, work string, files []file) error {
	path := filepath.Join(work, t.os+"-"+t.arch, t.program())
	if err := r.compile(".", t, path); err != nil {
		return err
	}
	program, err := load(t.program(), path, 0o755)
	if err != nil {
		return err
	}
	if err := r.writeSBOM(path, filepath.Join(r.out, r.archive(t)+".cdx.json")); err != nil {
		return err
	}
	all := append([]file{program}, files...)
	if t.os == "windows" {
		err = r.writeZip(filepath.Join(r.out, r.archive(t)+".zip"), r.archive(t), all)
	} else {
		err = r.writeTar(filepath.Join(r.out, r.archive(t)+".tar.gz"), r.archive(t), all)
	}
	if err != nil {
		return err
	}
	if t.os == "linux" {
		if err := r.writePackages(t, work, program, files); err != nil {
			return err
		}
	}
	for _, write := range []func(target, file) error{r.writeBundle, r.writeNPMPlatform, r.writeWheel} {
		if err := write(t, program); err != nil {
			return err
		}
	}
	return nil
}

// finish writes what a release has once, after the files of the systems.
func (r *release) finish(list []target) error {
	if err := r.writeNPM(list); err != nil {
		return err
	}
	if err := r.writeServer(); err != nil {
		return err
	}
	if err := r.writeNotes(); err != nil {
		return err
	}
	sums, err := r.sums("*.tar.gz")
	if err != nil {
		return err
	}
	if err := r.writeScript("install.sh", installScript, sums, 0o755); err != nil {
		return err
	}
	if len(list) == len(targets) { // it names an archive for every system
		if err := r.writeScript("bossman.rb", formula, sums, 0o644); err != nil {
			return err
		}
	}
	return r.writeSums()
}

// archive is the name of the files for a target, without their extensions.
func (r *release) archive(t target) string {
	return fmt.Sprintf("bossman_%s_%s_%s", r.version, t.os, t.arch)
}

// license is the text of the license.
func (r *release) license() file { return file{"LICENSE", r.licenseText, 0o644} }

// common returns the files that are in every archive.
func (r *release) common(work string) ([]file, error) {
	files := []file{r.license()}
	for _, name := range []string{"README.md", "CHANGELOG.md"} {
		f, err := load(name, name, 0o644)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
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
		if err != nil {
			return err
		}
		f, err := load(filepath.ToSlash(name), path, 0o644)
		files = append(files, f)
		return err
	})
	return files, err
}

// sums returns the checksums of the written files whose names match a pattern, by name.
func (r *release) sums(pattern string) (map[string]string, error) {
	paths, err := filepath.Glob(filepath.Join(r.out, pattern))
	if err != nil {
		return nil, err
	}
	sums := make(map[string]string)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		sums[filepath.Base(path)] = fmt.Sprintf("%x", sha256.Sum256(text))
	}
	return sums, nil
}

// writeSums writes the checksums of everything that was written.
func (r *release) writeSums() error {
	sums, err := r.sums("*")
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&b, "%s  %s\n", sums[name], name)
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
