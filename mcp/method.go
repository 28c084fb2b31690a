package mcp

// A wordKind distinguishes requests from notifications.
type wordKind uint8

const (
	wordRequest wordKind = iota + 1
	wordNotification
)

// A span is a range of revisions, both ends included. The zero span is empty.
type span struct{ first, last Revision }

func (s span) has(r Revision) bool { return r != 0 && s.first <= r && r <= s.last }

var (
	inAll    = span{R20241105, LatestRevision}
	inLegacy = span{R20241105, newestLegacy}
	inModern = span{R20260728, LatestRevision}
)

// A word describes a method: whether it is a request or a notification, and in
// which revisions a client and a server may send it.
type word struct {
	kind           wordKind
	client, server span
}

// fromClient reports whether a client may send the method in revision r.
func (w word) fromClient(r Revision) bool { return w.client.has(r) }

// fromServer reports whether a server may send the method in revision r.
func (w word) fromServer(r Revision) bool { return w.server.has(r) }

// vocabulary holds all methods of all revisions and of the Tasks extension,
// without the experimental tasks of 2025-11-25. In the stateless era, what a
// server asks its client travels inside results, so sampling/createMessage,
// roots/list and elicitation/create are messages in the legacy revisions only.
var vocabulary = map[string]word{
	"initialize":               {kind: wordRequest, client: inLegacy},
	"server/discover":          {kind: wordRequest, client: inModern},
	"ping":                     {kind: wordRequest, client: inLegacy, server: inLegacy},
	"tools/list":               {kind: wordRequest, client: inAll},
	"tools/call":               {kind: wordRequest, client: inAll},
	"prompts/list":             {kind: wordRequest, client: inAll},
	"prompts/get":              {kind: wordRequest, client: inAll},
	"resources/list":           {kind: wordRequest, client: inAll},
	"resources/templates/list": {kind: wordRequest, client: inAll},
	"resources/read":           {kind: wordRequest, client: inAll},
	"resources/subscribe":      {kind: wordRequest, client: inLegacy},
	"resources/unsubscribe":    {kind: wordRequest, client: inLegacy},
	"subscriptions/listen":     {kind: wordRequest, client: inModern},
	"completion/complete":      {kind: wordRequest, client: inAll},
	"logging/setLevel":         {kind: wordRequest, client: inLegacy},
	"tasks/get":                {kind: wordRequest, client: inModern},
	"tasks/update":             {kind: wordRequest, client: inModern},
	"tasks/cancel":             {kind: wordRequest, client: inModern},

	"sampling/createMessage": {kind: wordRequest, server: inLegacy},
	"roots/list":             {kind: wordRequest, server: inLegacy},
	"elicitation/create":     {kind: wordRequest, server: span{R20250618, newestLegacy}},

	"notifications/initialized":                {kind: wordNotification, client: inLegacy},
	"notifications/roots/list_changed":         {kind: wordNotification, client: inLegacy},
	"notifications/cancelled":                  {kind: wordNotification, client: inAll, server: inAll},
	"notifications/progress":                   {kind: wordNotification, client: inLegacy, server: inAll},
	"notifications/message":                    {kind: wordNotification, server: inAll},
	"notifications/tools/list_changed":         {kind: wordNotification, server: inAll},
	"notifications/prompts/list_changed":       {kind: wordNotification, server: inAll},
	"notifications/resources/list_changed":     {kind: wordNotification, server: inAll},
	"notifications/resources/updated":          {kind: wordNotification, server: inAll},
	"notifications/subscriptions/acknowledged": {kind: wordNotification, server: inModern},
	"notifications/elicitation/complete":       {kind: wordNotification, server: span{R20251125, R20251125}},
	"notifications/tasks":                      {kind: wordNotification, server: inModern},
}
