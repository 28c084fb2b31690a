package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// An nfpmConfig says what is in the packages for Debian and Fedora, and those built on them. nfpm, which is pinned in
// tools.mod, writes both from it.
type nfpmConfig struct {
	Name        string        `json:"name"`
	Version     string        `json:"version"`
	Platform    string        `json:"platform"`
	Arch        string        `json:"arch"`
	Section     string        `json:"section"`
	Maintainer  string        `json:"maintainer"`
	Description string        `json:"description"`
	Homepage    string        `json:"homepage"`
	License     string        `json:"license"`
	MTime       time.Time     `json:"mtime"`
	Recommends  []string      `json:"recommends"`
	Contents    []nfpmContent `json:"contents"`
	RPM         nfpmRPM       `json:"rpm"`
}

type nfpmContent struct {
	Source   string   `json:"src"`
	To       string   `json:"dst"`
	Type     string   `json:"type,omitzero"`
	Packager string   `json:"packager,omitzero"`
	Info     nfpmInfo `json:"file_info"`
}

type nfpmInfo struct {
	Mode  int       `json:"mode"`
	MTime time.Time `json:"mtime"`
}

type nfpmRPM struct {
	BuildHost string `json:"buildhost"` // by default the name of this machine
}

// writePackages writes the packages for Debian and Fedora. They install files and run no scripts: a service
// starts when an administrator enables it.
func (r *release) writePackages(t target, work string, program file, files []file) error {
	contents, err := linuxFiles(program, files)
	if err != nil {
		return err
	}
	dir := filepath.Join(work, "linux-"+t.arch)
	c := nfpmConfig{
		Name: "bossman", Version: r.version, Platform: t.os, Arch: t.arch, Section: "devel", Maintainer: maintainer,
		Description: summary, Homepage: homepage, License: license, MTime: r.time, Recommends: []string{"git"}, RPM: nfpmRPM{"localhost"},
	}
	for _, f := range contents {
		path := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.text, 0o644); err != nil {
			return err
		}
		content := nfpmContent{Source: path, To: f.name, Info: nfpmInfo{int(f.mode), r.time}}
		if strings.HasPrefix(f.name, "/etc/") {
			content.Type = "config|noreplace"
		}
		switch {
		case strings.HasSuffix(f.name, "/vendor-completions/_bossman"), strings.HasSuffix(f.name, "/copyright"):
			content.Packager = "deb"
		case strings.HasSuffix(f.name, "/site-functions/_bossman"), strings.HasSuffix(f.name, "/LICENSE"):
			content.Packager = "rpm"
		}
		c.Contents = append(c.Contents, content)
	}
	text, err := marshal(c) // JSON is YAML, which nfpm reads
	if err != nil {
		return err
	}
	config := filepath.Join(dir, "nfpm.yaml")
	if err := os.WriteFile(config, text, 0o644); err != nil {
		return err
	}
	for _, packager := range []string{"deb", "rpm"} {
		cmd := exec.Command("go", "tool", "-modfile=tools.mod", "nfpm", "package", "--config", config, "--packager", packager, "--target", r.out)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.Env = append(os.Environ(), fmt.Sprint("SOURCE_DATE_EPOCH=", r.time.Unix()))
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s for %s: %w", packager, t, err)
		}
	}
	return nil
}

// linuxFiles returns the files of both packages, with their places on the system. What only one of them has is
// there as well: its place tells.
func linuxFiles(program file, files []file) ([]file, error) {
	all := []file{{"/usr/bin/bossman", program.text, 0o755}}
	add := func(name string, text []byte) { all = append(all, file{name, text, 0o644}) }
	for _, f := range files {
		switch base := path.Base(f.name); {
		case strings.HasPrefix(f.name, "man/"):
			packed, err := compress(f.text)
			if err != nil {
				return nil, err
			}
			add("/usr/share/"+f.name+".gz", packed)
		case base == "bossman.bash":
			add("/usr/share/bash-completion/completions/bossman", f.text)
		case base == "_bossman":
			add("/usr/share/zsh/vendor-completions/_bossman", f.text)
			add("/usr/share/zsh/site-functions/_bossman", f.text)
		case base == "bossman.fish":
			add("/usr/share/fish/vendor_completions.d/bossman.fish", f.text)
		case base == "LICENSE":
			add("/usr/share/doc/bossman/copyright", f.text)
			add("/usr/share/licenses/bossman/LICENSE", f.text)
		case base == "README.md", base == "CHANGELOG.md":
			add("/usr/share/doc/bossman/"+base, f.text)
		}
	}
	for _, f := range [][2]string{
		{"bossman.service", "/usr/lib/systemd/system/bossman.service"},
		{"bossman.logrotate", "/etc/logrotate.d/bossman"},
		{"bossman.env.example", "/usr/share/doc/bossman/bossman.env.example"},
	} {
		text, err := os.ReadFile(filepath.Join("deploy", "systemd", f[0]))
		if err != nil {
			return nil, err
		}
		add(f[1], bytes.ReplaceAll(text, []byte("/usr/local/bin/bossman"), []byte("/usr/bin/bossman")))
	}
	return all, nil
}

// compress returns text as gzip does, without the time.
func compress(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}
