package board

import "time"

// A runLine is the work of an agent at an attempt, with what is kept of its log.
type runLine struct {
	V       int       `json:"v"`
	Type    string    `json:"type"`
	Claim   string    `json:"claim"`
	Agent   string    `json:"agent"`
	Model   string    `json:"model,omitzero"`
	Session string    `json:"session,omitzero"`
	Tokens  tokenLine `json:"tokens,omitzero"`
	Micros  int64     `json:"cost_microdollars,omitzero"`
	Priced  bool      `json:"priced,omitzero"`
	At      time.Time `json:"at"`
	Log     string    `json:"log,omitzero"`
}

// tokenLine are the tokens in a runLine.
type tokenLine struct {
	In     int64 `json:"in,omitzero"`
	Out    int64 `json:"out,omitzero"`
	Cached int64 `json:"cached,omitzero"`
}

func newRunLine(r Run) runLine {
	return runLine{
		V: 1, Type: "run", Claim: r.Claim.String(), Agent: r.Agent, Model: r.Model, Session: r.Session, Tokens: tokenLine(r.Tokens),
		Micros: r.Cost, Priced: r.Priced, At: utc(r.At), Log: r.Log,
	}
}

// run returns the run of a line.
func (w runLine) run(h Handle) Run {
	return Run{
		Claim: h, Agent: w.Agent, Model: w.Model, Session: w.Session, Tokens: Tokens(w.Tokens), Cost: w.Micros, Priced: w.Priced, At: w.At, Log: w.Log,
	}
}

func (f *exportFile) addRun(line []byte) error {
	var w runLine
	if err := parse(line, &w); err != nil {
		return err
	}
	h, err := ParseHandle(w.Claim)
	if err != nil {
		return err
	}
	if err := checkTexts(text{"log", w.Log, MaxLog}); err != nil {
		return err
	}
	r := w.run(h)
	err = checkRun(&r, nil)
	f.runs[h] = r
	return err
}
