package agents

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// claudeTypes calls a tool whose arguments have types of every kind, one of which contains
// itself: its input schema has a $ref, which Claude Code must pass on to the model.
func (b *bench) claudeTypes(t *testing.T) {
	server, rec := b.programs.Server(t, harness.FeaturesServer)
	leaf := map[string]any{"text": "leaf", "maybe": 1}
	m := newModel(t, once("test_types", map[string]any{"text": "abc", "maybe": nil, "tree": []any{leaf}}))
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"bossman": map[string]any{"type": "stdio", "command": server[0], "args": server[1:]},
	}})
	if err != nil {
		t.Fatal(err)
	}
	result := b.claudeSession(t, m, harness.Home(t), string(config))
	if !strings.Contains(result, `"leaf"`) {
		t.Errorf("the model was shown %s, want the tree", result)
	}
	var offered struct {
		Tools []struct {
			Name  string          `json:"name"`
			Input json.RawMessage `json:"input_schema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal([]byte(m.heard()), &offered); err != nil {
		t.Fatal(err)
	}
	schema := ""
	for _, tool := range offered.Tools {
		if strings.HasSuffix(tool.Name, "test_types") {
			schema = string(tool.Input)
		}
	}
	for _, want := range []string{`"$ref":"#/$defs/everyType"`, `"$defs":{"everyType":`, `"enum":["ink","oil"]`} {
		if !strings.Contains(schema, want) {
			t.Errorf("the model was not offered %s: %s", want, schema)
		}
	}
	rec.Called(t, "test_types")
}
