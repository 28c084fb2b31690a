package plaindir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// link makes a symbolic link, and its directory.
func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Skip(err)
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if d, err := Open(dir); err != nil {
		t.Error(err)
	} else {
		d.Close()
	}
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of nothing = %v", err)
	}
	link(t, t.TempDir(), filepath.Join(dir, "link"))
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "file"} {
		if d, err := Open(filepath.Join(dir, name)); err == nil {
			d.Close()
			t.Errorf("Open of a %s is no error", name)
		}
	}
}

// No link is followed below the first directory, also not to a place inside it.
func TestMake(t *testing.T) {
	dir := t.TempDir()
	d, err := Make(dir, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	link(t, "a", filepath.Join(dir, "inside"))
	link(t, t.TempDir(), filepath.Join(dir, "outside"))
	link(t, "b", filepath.Join(dir, "a", "c"))
	for _, names := range [][]string{{"inside"}, {"inside", "b"}, {"outside"}, {"a", "c"}} {
		if d, err := Make(dir, names...); err == nil {
			d.Close()
			t.Errorf("Make(%q) is no error", names)
		}
	}
}

// What is done in an opened directory stays there, whatever is put in its place.
func TestReplace_exchanged(t *testing.T) {
	dir, victim := filepath.Join(t.TempDir(), "dir"), t.TempDir()
	d, err := Make(filepath.Dir(dir), "dir")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := os.Rename(dir, dir+"-old"); err != nil {
		t.Skip(err)
	}
	link(t, victim, dir)
	for _, text := range []string{"one", "two"} {
		if err := Replace(d, "file", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := Read(d, "file", 10); err != nil || string(got) != text {
			t.Errorf("Read() = %q, %v; want %q", got, err, text)
		}
	}
	for path, want := range map[string]int{victim: 0, dir + "-old": 1} {
		if files, err := os.ReadDir(path); err != nil || len(files) != want {
			t.Errorf("in %q are %v, %v; want %d", path, files, err, want)
		}
	}
}

func TestRead_notPlain(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "long"), make([]byte, 11), 0o600); err != nil {
		t.Fatal(err)
	}
	link(t, "long", filepath.Join(dir, "link"))
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, name := range []string{"long", "link", "."} {
		if _, err := Read(d, name, 10); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Read(%s) = %v, want ErrInvalid", name, err)
		}
	}
}

func TestAppend(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"log", "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("one\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link(t, "other", filepath.Join(dir, "link"))
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := Append(d, "log", "two\n"); err != nil {
		t.Error(err)
	}
	if err := Append(d, "link", "two\n"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("Append(link) = %v, want ErrInvalid", err)
	}
	if err := Append(d, "none", "two\n"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Append(none) = %v, want ErrNotExist", err)
	}
	for name, want := range map[string]string{"log": "one\ntwo\n", "other": "one\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v; want %q", name, got, err, want)
		}
	}
}
