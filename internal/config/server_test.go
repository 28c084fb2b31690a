package config

import "testing"

func TestServerURL(t *testing.T) {
	for address, want := range map[string]string{
		"https://bossman.example.org":         "https://bossman.example.org/mcp",
		"https://bossman.example.org/":        "https://bossman.example.org/mcp",
		"https://bossman.example.org/b/mcp":   "https://bossman.example.org/b/mcp",
		"http://127.0.0.1:8181":               "http://127.0.0.1:8181/mcp",
		"http://[::1]:8181":                   "http://[::1]:8181/mcp",
		"http://localhost":                    "http://localhost/mcp",
		"http://bossman.example.org":          "",
		"https://user@bossman.example.org":    "",
		"https://bossman.example.org?key=x":   "",
		"https://bossman.example.org/#x":      "",
		"postgres://db.example.org/bossman":   "",
		"bossman.example.org":                 "",
		"http://127.0.0.1.evil.example.org/x": "",
	} {
		u, err := ServerURL(address)
		if err != nil && want != "" || err == nil && u.String() != want {
			t.Errorf("ServerURL(%q) = %v, %v, want %q", address, u, err, want)
		}
	}
}
