package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/pelletier/go-toml/v2"
)

// A credentialsFile has this machine's keys, one for each server.
type credentialsFile struct {
	path    string
	Servers map[string]serverKey `toml:"servers"` // by scheme and host
}

type serverKey struct {
	Key auth.Secret `toml:"key"`
}

// wireKey is a serverKey as it is written: only here a secret shows itself.
type wireKey struct {
	Key string `toml:"key"`
}

// credentials reads the file of keys.
func (a *app) credentials() (*credentialsFile, error) {
	config := userFile(a.Getenv)
	if config == "" {
		return nil, console.Errorf(console.Failure, "set HOME", "there is no place for this machine's keys")
	}
	f := &credentialsFile{path: filepath.Join(filepath.Dir(config), "credentials.toml"), Servers: map[string]serverKey{}}
	text, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read this machine's keys: %w", err)
	}
	if info, err := os.Stat(f.path); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, console.Errorf(console.Denied, "chmod 600 "+f.path, "%s has keys, and others on this machine may read it", f.path)
	}
	var w struct {
		Servers map[string]wireKey `toml:"servers"`
	}
	if err := toml.Unmarshal(text, &w); err != nil {
		return nil, fmt.Errorf("%s is not TOML", f.path) // its lines are secret
	}
	for server, k := range w.Servers {
		f.Servers[server] = serverKey{auth.Secret(k.Key)}
	}
	return f, nil
}

// write replaces the file, at once or not at all.
func (f *credentialsFile) write() error {
	w := struct {
		Servers map[string]wireKey `toml:"servers"`
	}{map[string]wireKey{}}
	for server, k := range f.Servers {
		w.Servers[server] = wireKey{k.Key.Reveal()}
	}
	text, err := toml.Marshal(w)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return fmt.Errorf("keep the key: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(f.path), "credentials-*.toml") // mode 0600
	if err != nil {
		return fmt.Errorf("keep the key: %w", err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.WriteString("# This machine's keys for Bossman servers. Keep it to yourself; bossman login writes it.\n" + string(text))
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), f.path)
	}
	if err != nil {
		return fmt.Errorf("keep the key: %w", err)
	}
	return nil
}
