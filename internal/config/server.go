package config

import (
	"net/url"
	"strings"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/loopback"
)

// IsServer reports whether a board's name is the address of a server.
func IsServer(board string) bool {
	return strings.HasPrefix(board, "https://") || strings.HasPrefix(board, "http://")
}

// ServerURL is the URL of a server's MCP endpoint, for an address that a person wrote.
func ServerURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, console.Usagef("%q is not a server's address such as https://bossman.example.org", address)
	}
	if u.Scheme != "https" && !(u.Scheme == "http" && loopback.Host(u.Hostname())) {
		return nil, console.Usagef("%s: keys are sent over https only, or to this machine itself", address)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/mcp"
	}
	return u, nil
}

// ServerName is how people and credential files name a server: its whole address, without the
// path /mcp. Another path of the same host may be somebody else's.
func ServerName(u *url.URL) string {
	name := u.Scheme + "://" + u.Host
	if path := u.EscapedPath(); path != "/mcp" {
		name += path
	}
	return name
}

// LoginCommand is the command that gets a key for a server.
func LoginCommand(u *url.URL) string { return "bossman login " + console.ShellWords(ServerName(u)) }

// MachineKey is this machine's key for a server: BOSSMAN_KEY, or what bossman login has
// stored.
func (s *Settings) MachineKey(server *url.URL) (auth.Secret, error) {
	// BOSSMAN_KEY is for machines without a person. It is used only if the server was
	// named beside it: a project's file must not choose who gets the key.
	if key := s.getenv("BOSSMAN_KEY"); key != "" {
		if s.Origin["board"] == "BOSSMAN_BOARD" || s.Origin["board"] == "--board" {
			return auth.Secret(key), nil
		}
	}
	c, err := LoadCredentials(s.getenv)
	if err != nil {
		return "", err
	}
	if key := c.Key(server); key != "" {
		return key, nil
	}
	if others := c.onHost(server); len(others) > 0 {
		return "", console.Errorf(console.Denied, "correct that address; if it is another server that you trust: "+LoginCommand(server),
			"you are logged in to %s, not to %s, which is the board by %q", strings.Join(others, " and "), ServerName(server), s.Origin["board"])
	}
	return "", console.Errorf(console.Denied, LoginCommand(server), "this machine has no key for %s", ServerName(server))
}
