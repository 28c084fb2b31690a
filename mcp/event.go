package mcp

import (
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/internal/rawjson"
)

// An Event is a change that clients may want to know about.
type Event struct {
	Kind EventKind
	Name string // URI of the resource, or id of the task
}

// An EventKind says what changed.
type EventKind string

const (
	EventTools     EventKind = "tools"     // the list of tools
	EventPrompts   EventKind = "prompts"   // the list of prompts
	EventResources EventKind = "resources" // the list of resources or templates
	EventResource  EventKind = "resource"  // the contents of a resource
	EventTask      EventKind = "task"      // the status of a task
)

// eventPart is a change of a part of a resource; its Name is URI#part. Clients get
// an EventResource.
const eventPart EventKind = "part"

// part splits the name of an eventPart.
func (e Event) part() (uri, part string) {
	i := strings.LastIndexByte(e.Name, '#')
	return e.Name[:max(i, 0)], e.Name[i+1:]
}

// notification returns the notification of the event for clients with a
// session.
func (e Event) notification() (method string, params map[string]any) {
	if e.Kind == EventResource {
		return "notifications/resources/updated", map[string]any{"uri": e.Name}
	}
	return "notifications/" + string(e.Kind) + "/list_changed", nil
}

// An EventFilter selects the events that a client wants.
type EventFilter struct {
	Tools        bool     `json:"toolsListChanged,omitzero"`
	Prompts      bool     `json:"promptsListChanged,omitzero"`
	Resources    bool     `json:"resourcesListChanged,omitzero"`
	ResourceURIs []string `json:"resourceSubscriptions,omitzero"`
	TaskIDs      []string `json:"taskIds,omitzero"`
}

func (f *EventFilter) wants(e Event) bool {
	switch e.Kind {
	case EventTools:
		return f.Tools
	case EventPrompts:
		return f.Prompts
	case EventResources:
		return f.Resources
	case EventResource:
		return slices.Contains(f.ResourceURIs, e.Name)
	case eventPart:
		uri, _ := e.part()
		return slices.Contains(f.ResourceURIs, uri)
	case EventTask:
		return slices.Contains(f.TaskIDs, e.Name)
	}
	return false
}

// eventOf returns the event that a notification reports.
func eventOf(n Notification) (Event, bool) {
	switch n.Method {
	case "notifications/tools/list_changed":
		return Event{Kind: EventTools}, true
	case "notifications/prompts/list_changed":
		return Event{Kind: EventPrompts}, true
	case "notifications/resources/list_changed":
		return Event{Kind: EventResources}, true
	case "notifications/resources/updated":
		return Event{Kind: EventResource, Name: rawjson.Text(member(n.Params, "uri"))}, true
	case "notifications/tasks":
		return Event{Kind: EventTask, Name: rawjson.Text(member(n.Params, "taskId"))}, true
	}
	return Event{}, false
}
