package agent

import (
	"bytes"
	"path/filepath"
	"strings"
)

// claudeKeys are the variables with which Claude Code works without a login.
var claudeKeys = []string{
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN",
	"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY",
}

func claudeLogin(l *looker) (Login, string) {
	dir, own := l.Getenv("CLAUDE_CONFIG_DIR"), filepath.Join(l.Home, ".claude.json")
	if dir != "" {
		own = filepath.Join(dir, ".claude.json")
	} else {
		dir = filepath.Join(l.Home, ".claude")
	}
	var c struct {
		OAuth map[string]any `json:"claudeAiOauth"`
	}
	if l.read(&c, dir, ".credentials.json") && len(c.OAuth) > 0 {
		return LoggedIn, "an account"
	}
	var s struct {
		Helper string            `json:"apiKeyHelper"`
		Env    map[string]string `json:"env"`
	}
	if l.read(&s, dir, "settings.json") {
		for _, name := range claudeKeys {
			if s.Env[name] != "" {
				return LoggedIn, name + " in its settings"
			}
		}
		if s.Helper != "" {
			return LoggedIn, "apiKeyHelper in its settings"
		}
	}
	var u struct {
		Account map[string]any `json:"oauthAccount"` // the token may be in the system's key store
		Key     string         `json:"primaryApiKey"`
	}
	if l.read(&u, own) && (len(u.Account) > 0 || u.Key != "") {
		return LoggedIn, "an account"
	}
	return LoggedOut, ""
}

func codexLogin(l *looker) (Login, string) {
	dir := l.Getenv("CODEX_HOME")
	if dir == "" {
		dir = filepath.Join(l.Home, ".codex")
	}
	var a struct {
		Key    string         `json:"OPENAI_API_KEY"`
		Tokens map[string]any `json:"tokens"`
	}
	if l.read(&a, dir, "auth.json") && (a.Key != "" || len(a.Tokens) > 0) {
		return LoggedIn, "an account"
	}
	if text, err := l.text(dir, "config.toml"); err == nil && bytes.Contains(text, []byte("model_provider")) {
		return LoginUnknown, "" // which may need no account
	}
	out, err := l.run("login", "status") // which also looks into the system's key store
	switch {
	case err == nil && strings.Contains(out, "Logged in"):
		return LoggedIn, "an account"
	case strings.Contains(out, "Not logged in"):
		return LoggedOut, ""
	}
	return LoginUnknown, ""
}

func geminiLogin(l *looker) (Login, string) {
	dir := filepath.Join(l.Home, ".gemini")
	var a struct {
		Active string `json:"active"`
	}
	if _, err := l.text(dir, "oauth_creds.json"); err == nil || l.read(&a, dir, "google_accounts.json") && a.Active != "" {
		return LoggedIn, "an account"
	}
	if text, err := l.text(dir, ".env"); err == nil && bytes.Contains(text, []byte("_API_KEY")) {
		return LoggedIn, "its file .env"
	}
	if text, err := l.text(dir, "settings.json"); err == nil && bytes.Contains(text, []byte("selected")) && !bytes.Contains(text, []byte("oauth-personal")) {
		return LoginUnknown, "" // a key may be in the system's key store
	}
	return LoggedOut, ""
}

func opencodeLogin(l *looker) (Login, string) {
	dir := l.Getenv("XDG_DATA_HOME")
	if dir == "" {
		dir = filepath.Join(l.Home, ".local", "share")
	}
	var accounts map[string]any
	if l.read(&accounts, dir, "opencode", "auth.json") && len(accounts) > 0 {
		return LoggedIn, "an account"
	}
	return LoginUnknown, "" // some models need no account, and a provider may have its key in any variable
}

func copilotLogin(l *looker) (Login, string) {
	dir := l.Getenv("COPILOT_HOME")
	if dir == "" {
		dir = filepath.Join(l.Home, ".copilot")
	}
	text, err := l.text(dir, "config.json")
	if err == nil && bytes.Contains(text, []byte(`"login"`)) {
		return LoggedIn, "an account"
	}
	if _, err := l.text(l.Home, ".config", "gh", "hosts.yml"); err == nil {
		return LoggedIn, "the account of gh"
	}
	return LoginUnknown, "" // the account may be in the system's key store
}
