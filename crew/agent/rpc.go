package agent

import (
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// An rpc is a stream on which both sides make requests: JSON-RPC, a message a line.
type rpc struct {
	*stream
	// version is what each message of ours says as its jsonrpc, nothing if it is empty.
	version string
	// request gets what the agent requests, and notice what it only tells.
	request, notice func(rpcMessage)

	calls   sync.Mutex // holds the next two
	lastID  int
	waiting map[int]func(result jsontext.Value, fault *rpcFault)
}

func newRPC(st *stream, version string) *rpc {
	return &rpc{stream: st, version: version, waiting: map[int]func(jsontext.Value, *rpcFault){}}
}

// rpcMessage is a message from an agent.
type rpcMessage struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  *rpcFault      `json:"error"`
}

// rpcFault is why a request has no result.
type rpcFault struct {
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data"`
}

// noMethod is the code for a method that is not known.
const noMethod = -32601

// maxData bounds what is shown of the data of a fault.
const maxData = 1000

// String is what the agent says about the fault.
func (f *rpcFault) String() string {
	data := string(f.Data)
	var details struct {
		Details string `json:"details"`
	}
	if json.Unmarshal(f.Data, &details) == nil && details.Details != "" {
		data = details.Details
	}
	if data == "" || data == "null" || len(data) > maxData {
		return cut(f.Message, maxLine)
	}
	return strings.TrimSpace(cut(f.Message, maxLine) + ": " + data)
}

// post sends a message.
func (s *rpc) post(message map[string]any) bool {
	if s.version != "" {
		message["jsonrpc"] = s.version
	}
	return s.send(message)
}

// call makes a request. then gets its result, or why there is none.
func (s *rpc) call(method string, params any, then func(result jsontext.Value, fault *rpcFault)) bool {
	s.calls.Lock()
	s.lastID++
	id := s.lastID
	s.waiting[id] = then
	s.calls.Unlock()
	return s.post(map[string]any{"id": id, "method": method, "params": params})
}

// answer answers a request.
func (s *rpc) answer(m rpcMessage, result any) {
	s.post(map[string]any{"id": m.ID, "result": result})
}

// refuse answers a request that is not known here.
func (s *rpc) refuse(m rpcMessage) {
	s.post(map[string]any{"id": m.ID, "error": map[string]any{"code": noMethod, "message": "bossman work does not know " + m.Method}})
}

// take passes on what a line says. A line that is no message is left out: some programs also
// write other things there.
func (s *rpc) take(line []byte) {
	var m rpcMessage
	if json.Unmarshal(line, &m) != nil {
		return
	}
	switch {
	case m.Method == "":
		var id int
		if json.Unmarshal(m.ID, &id) != nil {
			return
		}
		s.calls.Lock()
		then := s.waiting[id]
		delete(s.waiting, id)
		s.calls.Unlock()
		if then != nil {
			then(m.Result, m.Error)
		}
	case m.ID != nil:
		s.request(m)
	default:
		s.notice(m)
	}
}

// unusable tells that the agent cannot work here.
func (s *rpc) unusable(why string) {
	s.turned(Event{Kind: Turn, Fault: Unusable, Text: why})
}

// joinEnv are the variables that the MCP server needs; few agents pass on what they do not know.
func joinEnv(env []string) map[string]string {
	own := map[string]string{}
	for _, v := range env {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, "BOSSMAN_") {
			own[name] = value
		}
	}
	return own
}
