package store

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/bson/bsontype"

	"github.com/FerretDB/FerretDB/internal/types"
)

// verdict is the result of a condition on the bytes of a document. maybe leaves the decision to FerretDB's own filter, which
// needs the decoded document.
type verdict uint8

const (
	no verdict = iota
	maybe
	yes
)

func (v verdict) inverted() verdict { return yes - v }

func verdictOf(matches bool) verdict {
	if matches {
		return yes
	}
	return no
}

// interval is a range of encoded values.
type interval struct {
	low, high                 []byte
	lowExcluded, highExcluded bool
}

func pointInterval(key []byte) interval { return interval{low: key, high: key} }

func (i interval) isPoint() bool { return !i.lowExcluded && !i.highExcluded && bytes.Equal(i.low, i.high) }

func (i interval) contains(key []byte) bool {
	low, high := bytes.Compare(key, i.low), bytes.Compare(key, i.high)
	return (low > 0 || low == 0 && !i.lowExcluded) && (high < 0 || high == 0 && !i.highExcluded)
}

// intersect returns the common part. The second result is false without one.
func (i interval) intersect(other interval) (interval, bool) {
	if order := bytes.Compare(other.low, i.low); order > 0 || order == 0 && other.lowExcluded {
		i.low, i.lowExcluded = other.low, other.lowExcluded
	}
	if order := bytes.Compare(other.high, i.high); order < 0 || order == 0 && other.highExcluded {
		i.high, i.highExcluded = other.high, other.highExcluded
	}
	order := bytes.Compare(i.low, i.high)
	return i, order < 0 || order == 0 && !i.lowExcluded && !i.highExcluded
}

// node is a part of a filter.
type node interface {
	// check evaluates the bytes of a document.
	check(raw []byte) verdict
}

// all is a conjunction.
type all []node

func (nodes all) check(raw []byte) verdict {
	result := yes
	for _, n := range nodes {
		if v := n.check(raw); v < result {
			if v == no {
				return no
			}
			result = v
		}
	}
	return result
}

// anyOf is a disjunction.
type anyOf []all

func (branches anyOf) check(raw []byte) verdict {
	result := no
	for _, branch := range branches {
		if v := branch.check(raw); v > result {
			if v == yes {
				return yes
			}
			result = v
		}
	}
	return result
}

// not inverts the verdict of another node.
type not struct{ node node }

func (n not) check(raw []byte) verdict { return n.node.check(raw).inverted() }

// unknown is a condition that only FerretDB's filter understands.
type unknown struct{}

func (unknown) check([]byte) verdict { return maybe }

// within requires that the value of a field is in one of some intervals, or in none of them.
type within struct {
	field     string
	path      []string
	intervals []interval
	negated   bool
	// isLoose is true if the comparison of bytes can prove no match, but not a match.
	isLoose bool
	scratch []byte
}

func (w *within) check(raw []byte) verdict {
	value, found := lookupPath(raw, w.path)
	switch {
	case found == throughs || found == array && !w.arePoints():
		return maybe
	case found == array:
		return w.checkElements(value.Data)
	}
	w.scratch = appendValue(w.scratch[:0], value)
	return w.checkKey(w.scratch)
}

func (w *within) arePoints() bool {
	return !slices.ContainsFunc(w.intervals, func(one interval) bool { return !one.isPoint() })
}

// checkElements evaluates an array: one matching element is enough.
func (w *within) checkElements(list []byte) verdict {
	items := newElements(list)
	for items.next() {
		w.scratch = appendValue(w.scratch[:0], items.value)
		if !slices.ContainsFunc(w.intervals, func(one interval) bool { return bytes.Equal(one.low, w.scratch) }) {
			continue
		}
		if w.isLoose {
			return maybe
		}
		return verdictOf(!w.negated)
	}
	return verdictOf(w.negated)
}

// checkKey evaluates an encoded value.
func (w *within) checkKey(key []byte) verdict {
	matches := false
	for _, i := range w.intervals {
		if i.contains(key) {
			matches = true
			break
		}
	}
	if matches && w.isLoose {
		return maybe
	}
	return verdictOf(matches != w.negated)
}

// exists requires that a field exists, or that it does not.
type exists struct {
	path     []string
	expected bool
}

func (e exists) check(raw []byte) verdict {
	_, found := lookupPath(raw, e.path)
	if found == throughs {
		return maybe
	}
	return verdictOf((found != missing) == e.expected)
}

// hasSize requires that a field is an array of that many elements.
type hasSize struct {
	path []string
	size int64
}

func (h hasSize) check(raw []byte) verdict {
	value, found := lookupPath(raw, h.path)
	switch found {
	case throughs:
		return maybe
	case array:
		var count int64
		items := newElements(value.Data)
		for items.next() {
			count++
		}
		return verdictOf(count == h.size)
	}
	return no
}

// matchesText requires that a field is a string that a regular expression matches.
type matchesText struct {
	path       []string
	expression *regexp.Regexp
}

func (m matchesText) check(raw []byte) verdict {
	value, found := lookupPath(raw, m.path)
	switch {
	case found == missing:
		return no
	case found == scalar && value.Type == bsontype.String:
		text := value.Data[4 : len(value.Data)-1]
		return verdictOf(m.expression.Match(text))
	case found == scalar && value.Type == bsontype.Null:
		return no
	}
	return maybe
}

// compile returns the nodes of a filter. It never fails: what it does not understand becomes unknown.
func compile(filter *types.Document) all {
	var nodes all
	for i, key := range filter.Keys() {
		nodes = append(nodes, compilePair(key, filter.Values()[i])...)
	}
	return nodes
}

func compilePair(key string, value any) all {
	switch key {
	case "$comment":
		return nil
	case "$and":
		branches, ok := compileBranches(value)
		if !ok {
			return all{unknown{}}
		}
		return slices.Concat(branches...)
	case "$or", "$nor":
		branches, ok := compileBranches(value)
		if !ok {
			return all{unknown{}}
		}
		if key == "$nor" {
			return all{not{anyOf(branches)}}
		}
		return all{anyOf(branches)}
	}
	if strings.HasPrefix(key, "$") || strings.Contains(key, "..") || strings.HasPrefix(key, ".") || strings.HasSuffix(key, ".") {
		return all{unknown{}}
	}
	if expression, ok := value.(*types.Document); ok && isOperators(expression) {
		return compileOperators(key, expression)
	}
	return all{compileEqual(key, value)}
}

func compileBranches(value any) ([]all, bool) {
	list, ok := value.(*types.Array)
	if !ok || list.Len() == 0 {
		return nil, false
	}
	branches := make([]all, list.Len())
	for i := range branches {
		item, _ := list.Get(i)
		branch, ok := item.(*types.Document)
		if !ok {
			return nil, false
		}
		branches[i] = compile(branch)
	}
	return branches, true
}

func isOperators(expression *types.Document) bool {
	keys := expression.Keys()
	return len(keys) > 0 && !slices.ContainsFunc(keys, func(key string) bool { return !strings.HasPrefix(key, "$") })
}

func compileEqual(field string, value any) node {
	if expression, ok := value.(types.Regex); ok {
		return compileText(field, expression)
	}
	key, isExact, ok := encodeOperand(value)
	if !ok {
		return unknown{}
	}
	return &within{field: field, path: splitPath(field), intervals: []interval{pointInterval(key)}, isLoose: !isExact}
}

// encodeOperand returns the encoding of a value to compare with. It refuses arrays and regular expressions, which have
// rules of their own. isExact is false for documents.
func encodeOperand(value any) (key []byte, isExact, ok bool) {
	switch value := value.(type) {
	case string, int32, int64, float64, bool, time.Time, types.ObjectID, types.NullType, types.Binary, types.Timestamp:
		isExact = true
	case *types.Document:
		if slices.ContainsFunc(value.Keys(), func(key string) bool { return strings.HasPrefix(key, "$") }) {
			return nil, false, false
		}
	default:
		return nil, false, false
	}
	converted, err := encodeValue(value)
	if err != nil {
		return nil, false, false
	}
	return appendValue(nil, converted), isExact, true
}

func compileText(field string, expression types.Regex) node {
	compiled, err := expression.Compile()
	if err != nil || strings.Trim(expression.Options, "ims") != "" { // FerretDB reports other options as errors
		return unknown{}
	}
	return matchesText{path: splitPath(field), expression: compiled}
}

func compileOperators(field string, expression *types.Document) all {
	var nodes all
	for i, operator := range expression.Keys() {
		if operator == "$options" {
			continue
		}
		nodes = append(nodes, compileOperator(field, operator, expression.Values()[i], expression))
	}
	return nodes
}

func compileOperator(field, operator string, value any, expression *types.Document) node {
	path := splitPath(field)
	switch operator {
	case "$eq":
		if _, isExpression := value.(types.Regex); isExpression {
			return unknown{}
		}
		return compileEqual(field, value)
	case "$ne":
		if key, isExact, ok := encodeOperand(value); ok && isExact {
			return &within{field: field, path: path, intervals: []interval{pointInterval(key)}, negated: true}
		}
	case "$in", "$nin":
		if intervals, ok := pointsOf(value); ok {
			return &within{field: field, path: path, intervals: intervals, negated: operator == "$nin"}
		}
	case "$gt", "$gte", "$lt", "$lte":
		if bound, ok := rangeOf(operator, value); ok {
			return &within{field: field, path: path, intervals: []interval{bound}}
		}
	case "$exists":
		if expected, ok := value.(bool); ok {
			return exists{path, expected}
		}
	case "$size":
		switch size := value.(type) {
		case int32:
			if size >= 0 {
				return hasSize{path, int64(size)}
			}
		case int64:
			if size >= 0 {
				return hasSize{path, size}
			}
		}
	case "$not":
		if inner, ok := value.(*types.Document); ok && isOperators(inner) {
			return not{compileOperators(field, inner)}
		}
	case "$regex":
		return compileRegexOperator(field, value, expression)
	}
	return unknown{}
}

func compileRegexOperator(field string, value any, expression *types.Document) node {
	var result types.Regex
	switch value := value.(type) {
	case string:
		result.Pattern = value
	case types.Regex:
		result = value
	default:
		return unknown{}
	}
	if options, err := expression.Get("$options"); err == nil {
		text, ok := options.(string)
		if !ok || result.Options != "" {
			return unknown{}
		}
		result.Options = text
	}
	return compileText(field, result)
}

// pointsOf returns the values of a list as sorted intervals, without repetitions.
func pointsOf(value any) ([]interval, bool) {
	list, ok := value.(*types.Array)
	if !ok {
		return nil, false
	}
	keys := make([][]byte, list.Len())
	for i := range keys {
		item, _ := list.Get(i)
		key, isExact, ok := encodeOperand(item)
		if !ok || !isExact {
			return nil, false
		}
		keys[i] = key
	}
	slices.SortFunc(keys, bytes.Compare)
	keys = slices.CompactFunc(keys, bytes.Equal)
	points := make([]interval, len(keys))
	for i, key := range keys {
		points[i] = pointInterval(key)
	}
	return points, true
}

// rangeOf returns the interval of a comparison: only values of the operand's class can match.
func rangeOf(operator string, value any) (interval, bool) {
	if _, isNull := value.(types.NullType); isNull {
		return interval{}, false
	}
	key, isExact, ok := encodeOperand(value)
	if !ok || !isExact || key[0] == classNaN {
		return interval{}, false
	}
	first, last := []byte{key[0]}, []byte{key[0] + 1}
	switch operator {
	case "$gt":
		return interval{low: key, lowExcluded: true, high: last, highExcluded: true}, true
	case "$gte":
		return interval{low: key, high: last, highExcluded: true}, true
	case "$lt":
		return interval{low: first, high: key, highExcluded: true}, true
	}
	return interval{low: first, high: key}, true
}
