package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/pelletier/go-toml/v2"
)

// Credentials are this machine's keys for servers, in a file that only its user can read.
type Credentials struct {
	path string
	keys map[string]auth.Secret // by ServerName
}

// credentialsFile is the file. Only here a secret is written out.
type credentialsFile struct {
	Servers map[string]serverKey `toml:"servers"`
}

type serverKey struct {
	Key string `toml:"key"`
}

// CredentialsPath is where the file is, empty if there is no place for one.
func CredentialsPath(getenv func(string) string) string {
	config := userFile(getenv)
	if config == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(config), "credentials.toml")
}

// LoadCredentials reads the file; one that does not exist is empty.
func LoadCredentials(getenv func(string) string) (*Credentials, error) {
	path := CredentialsPath(getenv)
	if path == "" {
		return nil, console.Errorf(console.Failure, "set HOME", "there is no place for this machine's keys")
	}
	c := &Credentials{path: path, keys: map[string]auth.Secret{}}
	text, err := readOwn(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read this machine's keys: %w", err)
	}
	if info, err := os.Stat(c.path); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, console.Errorf(console.Denied, "chmod 600 "+c.path, "%s has keys, and others on this machine may read it", c.path)
	}
	var file credentialsFile
	if err := toml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s is not TOML", c.path) // the parser's error quotes a line, which is secret
	}
	for server, k := range file.Servers {
		c.keys[server] = auth.Secret(k.Key)
	}
	return c, nil
}

// Path is where the file is.
func (c *Credentials) Path() string { return c.path }

// Key is the key for a server, empty if there is none.
func (c *Credentials) Key(server *url.URL) auth.Secret { return c.keys[ServerName(server)] }

// onHost lists the servers on the host of a server for which there are keys.
func (c *Credentials) onHost(server *url.URL) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(c.keys)) {
		if u, err := ServerURL(name); err == nil && u.Scheme == server.Scheme && u.Host == server.Host {
			names = append(names, name)
		}
	}
	return names
}

// SetKey changes the key for a server and writes the file, atomically.
func (c *Credentials) SetKey(server *url.URL, key auth.Secret) error {
	c.keys[ServerName(server)] = key
	if err := c.write(); err != nil {
		return fmt.Errorf("store the key: %w", err)
	}
	return nil
}

func (c *Credentials) write() error {
	file := credentialsFile{Servers: map[string]serverKey{}}
	for server, k := range c.keys {
		file.Servers[server] = serverKey{k.Reveal()}
	}
	text, err := toml.Marshal(file)
	if err != nil {
		return err
	}
	return replaceFile(c.path, "# This machine's keys for Bossman servers. Keep it to yourself; bossman login writes it.\n"+string(text))
}
