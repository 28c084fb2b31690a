package pageurl

import "testing"

// Only an address that is safe to show reaches the person.
func TestCheck(t *testing.T) {
	for _, u := range []string{"https://example.com/a?b=c#d", "http://127.0.0.1:8080/x", "http://localhost/", "http://[::1]/"} {
		if err := Check(u); err != nil {
			t.Errorf("Check(%q) = %v, want nil", u, err)
		}
	}
	for _, u := range []string{
		"", "javascript:alert(1)", "file:///etc/passwd", "$(reboot)", "a.exe", "http://example.com/", "https://x@y/",
		"https://user:pass@example.com/", "https://a\r\nb/", "https://a b/", "https:///path", "https:opaque", "data:text/html,x",
		"https://exаmple.com/", "https://a/\x00", `https://a\b`, "ftp://a/", "//a/b", "ms-settings:x",
	} {
		if Check(u) == nil {
			t.Errorf("Check(%q) = nil, want a reason", u)
		}
	}
}
