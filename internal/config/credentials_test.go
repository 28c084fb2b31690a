package config

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/bossman-dev/bossman/internal/console"
)

func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	getenv := func(name string) string { return map[string]string{"XDG_CONFIG_HOME": dir}[name] }
	server, err := ServerURL("https://bossman.example.org")
	if err != nil {
		t.Fatal(err)
	}
	c, err := LoadCredentials(getenv)
	if err != nil || c.Key(server) != "" {
		t.Fatalf("LoadCredentials(no file) = %v, %v", c, err)
	}
	if err := c.SetKey(server, "secret"); err != nil {
		t.Fatal(err)
	}
	if c.Path() != filepath.Join(dir, "bossman", "credentials.toml") {
		t.Errorf("Path = %s", c.Path())
	}
	if c, err = LoadCredentials(getenv); err != nil || c.Key(server).Reveal() != "secret" {
		t.Errorf("LoadCredentials = %v, %v, want the key", c, err)
	}
	for _, address := range []string{"https://bossman.example.org/x", "https://bossman.example.org/%6dcp", "https://bossman.example.org/mcp/", "https://bossman.example.org/x/../mcp", "https://bossman.example.org:444"} {
		other, err := ServerURL(address)
		if err != nil {
			t.Fatal(err)
		}
		if key := c.Key(other); key != "" {
			t.Errorf("the key for %s is sent to %s", server, address)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	if info, err := os.Stat(c.Path()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v, want mode 0600", info.Mode(), err)
	}
	if err := os.Chmod(c.Path(), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadCredentials(getenv); console.CodeOf(err) != console.Denied || console.NextOf(err) != "chmod 600 "+c.Path() {
		t.Errorf("LoadCredentials(readable by others) = %v", err)
	}
}
