package mcp

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A wireSample is a value with all its fields set, and what the published
// schemas call it from one revision on.
type wireSample struct {
	def    string
	first  Revision
	method string // not empty: the definition is of a whole message, this is its params
	value  any    // a pointer
	shape  func(Revision) any
}

func wireSamples() []wireSample {
	object := json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`)
	settings := map[string]json.RawMessage{"com.example/x": json.RawMessage(`{}`)}
	icons := []Icon{{Src: "https://example.com/i.png", Sizes: []string{"any"}, Theme: "light"}}
	notes := &Annotations{Audience: []string{"user", "assistant"}, Priority: new(0.5), LastModified: "2026-07-28T00:00:00Z"}
	meta := Meta{"com.example/k": "v"}

	tool := &Tool{
		Name: "add", Title: "Add", Description: "adds", InputSchema: object, OutputSchema: json.RawMessage(`{"type":"array"}`), Icons: icons, Meta: meta,
		Annotations: &ToolAnnotations{Title: "t", ReadOnlyHint: true, DestructiveHint: new(false), IdempotentHint: true, OpenWorldHint: new(false)},
	}
	answer := &ToolResult{Content: allContent(), StructuredContent: json.RawMessage(`[1]`), IsError: true, Meta: meta}
	prompt := &PromptResult{Description: "d", Meta: meta}
	for _, c := range allContent() {
		prompt.Messages = append(prompt.Messages, PromptMessage{Role: "user", Content: c})
	}
	sample := &SampleParams{
		Messages:         []SampleMessage{{Role: "user", Content: Blocks{Text("a"), Audio([]byte("b"), "audio/wav")}, Meta: meta}},
		ModelPreferences: &ModelPreferences{Hints: []ModelHint{{Name: "m"}}, CostPriority: new(0.0), SpeedPriority: new(0.5), IntelligencePriority: new(1.0)},
		SystemPrompt:     "s", IncludeContext: "none", Temperature: new(0.0), MaxTokens: 10, StopSequences: []string{"x"},
		Metadata: json.RawMessage(`{"k":"v"}`), Tools: []Tool{*tool}, ToolChoice: &ToolChoice{Mode: "auto"},
	}
	rich := *sample
	rich.Messages = []SampleMessage{{Role: "assistant", Content: Blocks(sampleContent())}}
	form := &ElicitParams{Mode: "form", Message: "m", RequestedSchema: richForm}

	return []wireSample{
		{def: "Tool", value: tool, shape: func(r Revision) any { return shapeTool(tool, r) }},
		{def: "CallToolResult", value: answer, shape: func(r Revision) any { return shapeToolResult(answer, r) }},
		{def: "Prompt", value: &Prompt{Name: "p", Title: "P", Description: "d", Arguments: []PromptArgument{{Name: "a", Title: "A", Description: "d", Required: true}}, Icons: icons, Meta: meta}},
		{def: "GetPromptResult", value: prompt, shape: func(r Revision) any { return shapePrompt(prompt, r) }},
		{def: "Resource", value: &Resource{URI: "a://b", Name: "n", Title: "t", Description: "d", MIMEType: "m/n", Size: new(int64(1)), Annotations: notes, Icons: icons, Meta: meta}},
		{def: "ResourceTemplate", value: &ResourceTemplate{URITemplate: "a://{b}", Name: "n", MIMEType: "m/n", Annotations: notes, Icons: icons, Meta: meta}},
		{def: "TextResourceContents", value: &ResourceContents{URI: "a://b", MIMEType: "m/n", Meta: meta}},
		{def: "BlobResourceContents", value: &ResourceContents{URI: "a://b", MIMEType: "m/n", Blob: []byte{}, Meta: meta}},
		{def: "Root", value: &Root{URI: "file:///a", Name: "a", Meta: meta}},
		{def: "ListRootsResult", value: &rootsResult{Roots: []Root{}, Meta: meta}},
		{def: "CreateMessageRequest", method: "sampling/createMessage", value: sample, shape: func(r Revision) any { return shapeSample(sample, r) }},
		{def: "CreateMessageRequest", first: R20251125, method: "sampling/createMessage", value: &rich, shape: func(r Revision) any { return shapeSample(&rich, r) }},
		{def: "CreateMessageResult", value: &SampleResult{Role: "assistant", Content: Blocks{Text("a")}, Model: "m", StopReason: "endTurn", Meta: meta}},
		{def: "CreateMessageResult", first: R20251125, value: &SampleResult{Role: "assistant", Content: Blocks(sampleContent()), Model: "m"}},
		{def: "ElicitRequest", first: R20250618, method: "elicitation/create", value: form, shape: func(r Revision) any { return shapeElicit(form, r) }},
		{def: "ElicitRequest", first: R20251125, method: "elicitation/create", value: &ElicitParams{Mode: "url", Message: "m", URL: "https://example.com", ElicitationID: "1"}},
		{def: "ElicitResult", first: R20250618, value: &ElicitResult{Action: "accept", Content: json.RawMessage(`{"a":"b"}`), Meta: meta}},
		{def: "ProgressNotification", method: "notifications/progress", value: &progressParams{json.RawMessage(`"t"`), Progress{Progress: 0, Total: 2.5, Message: "m", Meta: meta}}},
		{def: "LoggingMessageNotification", method: "notifications/message", value: &logParams{Level: logAlert, Logger: "l", Data: json.RawMessage(`null`), Meta: meta}},
		{def: "CompleteRequest", method: "completion/complete", value: &CompleteParams{Ref: CompleteRef{Type: "ref/prompt", Name: "n", Title: "t"}, Argument: CompleteArgument{Name: "a"}, Context: &CompleteContext{Arguments: map[string]string{"b": "c"}}}},
		{def: "CompleteRequest", method: "completion/complete", value: &CompleteParams{Ref: CompleteRef{Type: "ref/resource", URI: "a://{b}"}, Argument: CompleteArgument{Name: "a", Value: "v"}}},
		{def: "CompleteResult", value: &struct {
			Completion Completion `json:"completion"`
		}{Completion{Values: []string{"a"}, Total: new(1), HasMore: true}}},
		{def: "Implementation", value: &Implementation{Name: "n", Title: "t", Version: "v", Description: "d", WebsiteURL: "https://example.com", Icons: icons}},
		{def: "ClientCapabilities", value: &ClientCapabilities{
			Experimental: settings, Roots: &RootsCapability{ListChanged: true}, Extensions: settings,
			Sampling: &SamplingCapability{Context: &struct{}{}, Tools: &struct{}{}}, Elicitation: &ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}},
		}},
		{def: "ServerCapabilities", value: &ServerCapabilities{
			Experimental: settings, Logging: &struct{}{}, Completions: &struct{}{}, Prompts: &PromptsCapability{ListChanged: true},
			Resources: &ResourcesCapability{Subscribe: true, ListChanged: true}, Tools: &ToolsCapability{ListChanged: true}, Extensions: settings,
		}},
	}
}

func encodeSample(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := jsonv2.Marshal(v)
	if err != nil {
		t.Fatalf("Marshal(%+v): %v", v, err)
	}
	if a, ok := v.(interface{ append([]byte) ([]byte, error) }); ok {
		if b, err = a.append(nil); err != nil {
			t.Fatalf("append(%+v): %v", v, err)
		}
	}
	if !jsontext.Value(b).IsValid() {
		t.Fatalf("%T writes %s, not valid", v, b)
	}
	return b
}

func TestWire_roundTrip(t *testing.T) {
	for _, s := range wireSamples() {
		b := encodeSample(t, s.value)
		back := reflect.New(reflect.TypeOf(s.value).Elem()).Interface()
		if err := jsonv2.Unmarshal(b, back); err != nil || !reflect.DeepEqual(back, s.value) {
			t.Errorf("%s reads as %+v, %v, want %+v", b, back, err, s.value)
		}
	}
}

func TestWire_fitsPublishedSchemas(t *testing.T) {
	for _, r := range Revisions() {
		t.Run(r.String(), func(t *testing.T) {
			schema := readPublished(t, r.String()).resolve(t)
			if err := schema.Validate(map[string]any{"Tool": map[string]any{}}); err == nil {
				t.Fatal("the schema lets a tool without a name pass: it checks nothing")
			}
			for _, s := range wireSamples() {
				if r < s.first {
					continue
				}
				v := s.value
				if s.shape != nil {
					v = s.shape(r)
				}
				b := encodeSample(t, v)
				if s.method != "" {
					if r.Stateless() { // what the era adds
						b = replaceMembers(b, []string{"_meta"}, map[string]any{"_meta": map[string]any{
							"io.modelcontextprotocol/protocolVersion": r.String(), "io.modelcontextprotocol/clientCapabilities": struct{}{},
						}})
					}
					b = replaceMembers(json.RawMessage("{}"), nil, map[string]any{"jsonrpc": "2.0", "id": 1, "method": s.method, "params": b})
				}
				if r.Stateless() && strings.HasSuffix(s.def, "Result") {
					b = replaceMembers(b, nil, map[string]any{"resultType": "complete"})
				}
				var instance any
				if err := jsonv2.Unmarshal(b, &instance); err != nil {
					t.Fatalf("%s: %v", s.def, err)
				}
				if err := schema.Validate(map[string]any{s.def: instance}); err != nil {
					t.Errorf("%s: %s: %v", s.def, b, err)
				}
			}
		})
	}
}
