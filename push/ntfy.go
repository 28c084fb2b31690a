package push

import (
	"bytes"
	"net/http"

	"github.com/go-json-experiment/json"
)

// maxActions is how many buttons a message of ntfy may have.
const maxActions = 3

type ntfyMessage struct {
	Topic    string       `json:"topic"`
	Title    string       `json:"title"`
	Message  string       `json:"message"`
	Priority int          `json:"priority,omitzero"`
	Click    string       `json:"click,omitzero"`
	Actions  []ntfyAction `json:"actions,omitzero"`
}

type ntfyAction struct {
	Action string `json:"action"`
	Label  string `json:"label"`
	URL    string `json:"url"`
	Method string `json:"method,omitzero"`
	Clear  bool   `json:"clear,omitzero"`
}

// ntfyRequest returns the request that publishes a message in a topic.
func ntfyRequest(t *Target, m *message) (*http.Request, error) {
	n := ntfyMessage{Topic: t.Topic, Title: m.Title, Message: m.Body, Click: m.URL}
	if m.Urgent {
		n.Priority = 4
	}
	for _, a := range m.Actions {
		n.Actions = append(n.Actions, ntfyAction{Action: "http", Label: a.Label, URL: a.URL, Method: http.MethodPost, Clear: true})
	}
	if len(n.Actions) == 0 && m.URL != "" {
		n.Actions = []ntfyAction{{Action: "view", Label: "Look", URL: m.URL}}
	}
	body, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequest(http.MethodPost, t.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if t.Secret != "" {
		r.Header.Set("Authorization", "Bearer "+t.Secret.Reveal())
	}
	return r, nil
}
