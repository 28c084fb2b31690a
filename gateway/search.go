package gateway

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode"

	jsonv2 "github.com/go-json-experiment/json"
)

// Field weights of BM25F, and how fast repetitions saturate.
const (
	saturation    = 1.2
	lengthPenalty = 0.5
	synonymWeight = 0.6
)

const (
	fieldName = iota
	fieldUpstream
	fieldTitle
	fieldSentence
	fieldDescription
	fieldParameters
	fieldCount
)

var fieldWeight = [fieldCount]float64{3, 1.5, 2, 1.5, 1, 0.5}

// An index finds tools by what they do.
type index struct {
	docs     []*document
	postings map[string][]posting
}

type document struct {
	key   string // of the tool
	terms map[string]float64
}

type posting struct {
	doc    int
	weight float64 // of the term in it, by fields and their length
}

// A searchable is a tool to be found.
type searchable struct {
	key        string
	upstream   string
	definition json.RawMessage
}

func newIndex(tools []searchable) *index {
	ix := &index{postings: map[string][]posting{}}
	fields := make([][fieldCount][]string, len(tools))
	var average [fieldCount]float64
	for i, t := range tools {
		fields[i] = readFields(t)
		for f, terms := range fields[i] {
			average[f] += float64(len(terms)) / float64(len(tools))
		}
	}
	for i, t := range tools {
		d := &document{key: t.key, terms: map[string]float64{}}
		for f, terms := range fields[i] {
			long := 1.0
			if average[f] > 0 {
				long = 1 - lengthPenalty + lengthPenalty*float64(len(terms))/average[f]
			}
			for _, term := range terms {
				d.terms[term] += fieldWeight[f] / long
			}
		}
		ix.docs = append(ix.docs, d)
		for term, w := range d.terms {
			ix.postings[term] = append(ix.postings[term], posting{i, w})
		}
	}
	return ix
}

// search returns the keys of at most n tools that allowed accepts, best first.
func (ix *index) search(query string, n int, allowed func(key string) bool) []string {
	scores := map[int]float64{}
	for _, term := range queryTerms(query) {
		best := map[int]float64{}
		for variant, weight := range variants(term) {
			list := ix.postings[variant]
			idf := math.Log(1 + (float64(len(ix.docs))-float64(len(list))+0.5)/(float64(len(list))+0.5))
			for _, p := range list {
				best[p.doc] = max(best[p.doc], weight*idf*p.weight*(saturation+1)/(p.weight+saturation))
			}
		}
		for doc, score := range best {
			scores[doc] += score
		}
	}
	var found []int
	for doc := range scores {
		if allowed(ix.docs[doc].key) {
			found = append(found, doc)
		}
	}
	slices.SortFunc(found, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return strings.Compare(ix.docs[a].key, ix.docs[b].key)
	})
	var keys []string
	for _, doc := range found[:min(n, len(found))] {
		keys = append(keys, ix.docs[doc].key)
	}
	return keys
}

// readFields returns the terms of a tool by field.
func readFields(t searchable) (fields [fieldCount][]string) {
	var def struct {
		Name        string `json:"name"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Annotations struct {
			Title string `json:"title"`
		} `json:"annotations"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	_ = jsonv2.Unmarshal(t.definition, &def) // a tool whose members have other types is found by what can be read
	fields[fieldName] = termsOf(def.Name)
	fields[fieldUpstream] = termsOf(t.upstream)
	fields[fieldTitle] = termsOf(def.Title + " " + def.Annotations.Title)
	fields[fieldSentence] = termsOf(firstSentence(def.Description))
	fields[fieldDescription] = termsOf(def.Description)
	var schema schemaText
	_ = jsonv2.Unmarshal(def.InputSchema, &schema)
	fields[fieldParameters] = schema.terms(nil, 0)
	return fields
}

// A schemaText is the part of a JSON Schema that is text.
type schemaText struct {
	Description string                `json:"description"`
	Enum        []any                 `json:"enum"`
	Properties  map[string]schemaText `json:"properties"`
	Items       *schemaText           `json:"items"`
}

func (s *schemaText) terms(terms []string, depth int) []string {
	if depth > 3 {
		return terms
	}
	terms = append(terms, termsOf(s.Description)...)
	for _, v := range s.Enum {
		if text, ok := v.(string); ok {
			terms = append(terms, termsOf(text)...)
		}
	}
	for name, p := range s.Properties {
		terms = append(terms, termsOf(name)...)
		terms = p.terms(terms, depth+1)
	}
	if s.Items != nil {
		terms = s.Items.terms(terms, depth+1)
	}
	return terms
}

// firstSentence returns the beginning of a description, on one line.
func firstSentence(text string) string {
	text = strings.TrimSpace(text)
	if i := strings.IndexAny(text, "\n\r"); i >= 0 {
		text = text[:i]
	}
	for i, r := range text {
		if strings.ContainsRune(".!?。", r) && (i+1 == len(text) || strings.HasPrefix(text[i+len(string(r)):], " ") || r == '。') && i > 12 {
			return text[:i+len(string(r))]
		}
	}
	return text
}

// termsOf splits a text into words, also at a change of case, and stems them.
func termsOf(text string) []string {
	var terms []string
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		for _, part := range splitCase(word) {
			if term := stem(strings.ToLower(part)); !stopWords[term] {
				terms = append(terms, term)
			}
		}
	}
	return terms
}

// splitCase splits readTextFile and HTTPServer at each change of case.
func splitCase(word string) []string {
	runes := []rune(word)
	var parts []string
	start := 0
	for i := 1; i < len(runes); i++ {
		up := unicode.IsUpper(runes[i])
		if up && !unicode.IsUpper(runes[i-1]) || up && i+1 < len(runes) && unicode.IsLower(runes[i+1]) {
			parts = append(parts, string(runes[start:i]))
			start = i
		}
	}
	return append(parts, string(runes[start:]))
}

// stem removes common endings of English words.
func stem(w string) string {
	if len(w) < 4 {
		return w
	}
	switch {
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		w = w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "xes"):
		w = w[:len(w)-2]
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is"):
		w = w[:len(w)-1]
	}
	for _, end := range []string{"ing", "ed"} {
		if base := strings.TrimSuffix(w, end); base != w && len(base) >= 3 && strings.ContainsAny(base, "aeiouy") {
			if n := len(base); base[n-1] == base[n-2] && !strings.ContainsRune("lsz", rune(base[n-1])) {
				base = base[:n-1]
			}
			w = base
			break
		}
	}
	if len(w) > 4 {
		w = strings.TrimSuffix(w, "e")
	}
	return w
}

// queryTerms returns the terms of a query, each once.
func queryTerms(query string) []string {
	var terms []string
	for _, t := range termsOf(query) {
		if !slices.Contains(terms, t) {
			terms = append(terms, t)
		}
		if len(terms) == 32 {
			break
		}
	}
	return terms
}

// variants returns a term and its synonyms, with their weights.
func variants(term string) map[string]float64 {
	out := map[string]float64{}
	for _, other := range synonyms[term] {
		out[other] = synonymWeight
	}
	out[term] = 1
	return out
}

// synonymGroups are words that people and servers use for the same thing.
var synonymGroups = []string{
	"folder directory dir",
	"bug issue ticket",
	"delete remove erase drop",
	"create make new add file",
	"open create",
	"modify edit change update",
	"find search lookup look locate query",
	"get fetch read show retrieve view",
	"list show enumerate",
	"rename move",
	"send post publish",
	"run execute invoke evaluate",
	"picture image screenshot photo",
	"repository repo project",
	"page website site url web",
	"website crawl scrape",
	"doc documentation docs manual",
	"comment note reply",
	"comment note review",
	"pr pull",
	"mr merge",
	"message chat dm",
	"js javascript script",
	"db database",
	"undo revert reset restore discard",
	"log output console",
	"write save store",
	"type fill enter input",
	"wait pause sleep",
	"route direction navigate",
	"address geocode coordinate",
	"remember memory entity knowledge",
	"user member person people",
	"pod container",
}

var (
	synonyms  = readSynonyms()
	stopWords = readStopWords()
)

func readSynonyms() map[string][]string {
	out := map[string][]string{}
	for _, group := range synonymGroups {
		words := strings.Fields(group)
		for _, a := range words {
			for _, b := range words {
				if a, b := stem(a), stem(b); a != b && !slices.Contains(out[a], b) {
					out[a] = append(out[a], b)
				}
			}
		}
	}
	return out
}

func readStopWords() map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields("a an and are as at be by for from how i in into is it its me my of on or our so that the their them then this those to was what when which who why will with you your can do does did please") {
		out[stem(w)] = true
		out[w] = true
	}
	return out
}
