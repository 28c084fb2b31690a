package config

import "testing"

func TestReadSetup(t *testing.T) {
	for text, ok := range map[string]bool{
		"setup = 'npm ci'\nsetup_when = ['package-lock.json', 'web/']": true,
		"setup = ['make', 'deps']":                                     true,
		"setup_when = ['a']":                                           false,
		"setup = ''":                                                   false,
		"setup = 3":                                                    false,
		"setup = 'make'\nsetup_when = 'a'":                             false,
		"setup = 'make'\nsetup_when = ['../a']":                        false,
		"setup = 'make'\nsetup_when = ['/etc/passwd']":                 false,
		"setup = 'make'\nsetup_when = ['.']":                           false,
		"setup = 'make'\nsetup_wen = ['a']":                            false,
	} {
		s := newSettings()
		err := s.readFile(projectFile(tree(t, map[string]string{".bossman/config.toml": "[work]\n" + text})), true)
		if (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
		if own := newSettings(); own.readFile(projectFile(tree(t, map[string]string{".bossman/config.toml": "[work]\n" + text})), false) != nil || own.setup != nil || len(own.Ignored) != 1 {
			t.Errorf("%q in the user's own file: %+v, ignored %q", text, own.setup, own.Ignored)
		}
	}
}
