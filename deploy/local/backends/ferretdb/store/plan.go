package store

import (
	"bytes"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/FerretDB/FerretDB/internal/handler/handlererrors"
	"github.com/FerretDB/FerretDB/internal/types"
)

const (
	// maxRanges bounds how many ranges of an index one plan reads.
	maxRanges = 5_000
	// maxMerged bounds how many ranges are merged into one order.
	maxMerged = 200
	// estimateKeys is how many keys of an index are counted to compare plans.
	estimateKeys = 1_000
)

// Query selects the documents of find, count and the other commands.
type Query struct {
	Filter *types.Document
	Sort   *types.Document // validated: each value is int64 1 or -1
	Skip   int64
	Limit  int64 // 0: no limit
	// Plain reads the collection in its natural order and leaves filter and order to FerretDB's own code.
	Plain bool
	// Hint is the name or the key pattern of the index to use, nil to let the planner choose.
	Hint any
}

// sortField is one field of an order.
type sortField struct {
	field      string
	path       []string
	descending bool
}

// keyRange is a part of an index: keys from low (included) to high (excluded).
type keyRange struct {
	low, high []byte
	// prefixLength is the length of the part that is equal in all keys of the range.
	prefixLength int
}

// plan says how a query reads a collection.
type plan struct {
	coll  *collection
	nodes all
	// index is nil where the collection is read as a whole.
	index   *index
	ranges  []keyRange
	sort    []sortField
	sorted  bool // the index returns the documents in order
	reverse bool
	merged  bool // several ranges are merged into the order
	// onKeys are the conditions that the key of an entry decides, beyond the ranges; by position of the field.
	onKeys map[int][]*within
	// exact says that ranges and onKeys decide the whole filter.
	exact bool
	// branches are the plans of a disjunction, each with an index of its own.
	branches []*plan
	fields   int // how many fields of the index the ranges use
	estimate int
	isEmpty  bool
}

// newPlan chooses how to read the collection for a query. The indexes belong to the snapshot.
func newPlan(reader pebble.Reader, coll *collection, indexes []*index, query *Query) (*plan, error) {
	nodes := flatten(compile(query.Filter))
	order := sortOf(query.Sort)
	if query.Hint != nil {
		return planHinted(coll, indexes, nodes, order, query.Hint)
	}
	var best *plan
	candidates := make([]*plan, 0, len(indexes)+1)
	for _, i := range append([]*index{coll.idIndex}, indexes...) {
		if candidate := planIndex(coll, i, nodes, order); candidate.isUseful() {
			if candidate.isEmpty || candidate.isLookup() {
				return candidate, nil
			}
			candidates = append(candidates, candidate)
		}
	}
	for _, candidate := range candidates {
		if len(candidates) > 1 {
			if err := candidate.measure(reader); err != nil {
				return nil, err
			}
		}
		if best == nil || candidate.isBetter(best, query) {
			best = candidate
		}
	}
	if best == nil || best.fields == 0 {
		union, err := planUnion(reader, coll, indexes, nodes, order, query)
		if err != nil {
			return nil, err
		}
		if union != nil {
			return union, nil
		}
	}
	if best == nil {
		best = &plan{coll: coll, nodes: nodes, sort: order, sorted: len(order) == 0, exact: len(nodes) == 0}
	}
	return best, nil
}

// planHinted returns a plan that reads the index that the client names.
func planHinted(coll *collection, indexes []*index, nodes all, order []sortField, hint any) (*plan, error) {
	for _, i := range append([]*index{coll.idIndex}, indexes...) {
		if i.isNamed(hint) {
			return planIndex(coll, i, nodes, order), nil
		}
	}
	return nil, handlererrors.NewCommandErrorMsg(
		handlererrors.ErrBadValue, "hint provided does not correspond to an existing index",
	)
}

// isNamed says that a hint, which is a name or a key pattern, names the index.
func (i *index) isNamed(hint any) bool {
	pattern, ok := hint.(*types.Document)
	if !ok {
		return hint == i.Name
	}
	if pattern.Len() != len(i.Fields) {
		return false
	}
	for f, field := range pattern.Keys() {
		wanted := types.Compare(pattern.Values()[f], int32(direction(i.Fields[f].Descending)))
		if field != i.Fields[f].Field || wanted != types.Equal {
			return false
		}
	}
	return true
}

// flatten removes nested conjunctions.
func flatten(nodes all) all {
	var flat all
	for _, n := range nodes {
		if inner, ok := n.(all); ok {
			flat = append(flat, flatten(inner)...)
			continue
		}
		flat = append(flat, n)
	}
	return flat
}

func sortOf(sort *types.Document) []sortField {
	var order []sortField
	for i, field := range sort.Keys() {
		if field == "$natural" {
			continue
		}
		direction, _ := sort.Values()[i].(int64)
		order = append(order, sortField{field: field, path: splitPath(field), descending: direction < 0})
	}
	return order
}

// isLookup says that the plan reads single documents by _id.
func (p *plan) isLookup() bool { return p.index.isID && p.fields == 1 && p.ranges[0].prefixLength == len(p.ranges[0].low) }

// measure counts the keys that the plan reads, up to a bound.
func (p *plan) measure(reader pebble.Reader) error {
	iter, err := reader.NewIter(&pebble.IterOptions{LowerBound: p.index.prefix, UpperBound: prefixEnd(p.index.prefix)})
	if err != nil {
		return err
	}
	defer iter.Close()
	for _, r := range p.ranges {
		for iter.SeekGE(r.low); iter.Valid() && bytes.Compare(iter.Key(), r.high) < 0; iter.Next() {
			if p.estimate++; p.estimate >= estimateKeys {
				return iter.Error()
			}
		}
	}
	return iter.Error()
}

// cost estimates how many documents a plan has to read.
func (p *plan) cost(query *Query) int {
	const many = 1_000_000
	total := p.estimate
	if total >= estimateKeys {
		total = many
	}
	if len(p.sort) > 0 && p.sorted && query.Limit > 0 && p.exact {
		return min(total, estimateKeys+int(query.Limit))
	}
	if p.sorted && query.Limit > 0 {
		return min(total, many-3)
	}
	return total
}

// isBetter compares two plans of one query.
func (p *plan) isBetter(other *plan, query *Query) bool {
	if a, b := p.cost(query), other.cost(query); a != b {
		return a < b
	}
	if len(p.sort) > 0 && p.sorted != other.sorted {
		return p.sorted
	}
	if p.exact != other.exact {
		return p.exact
	}
	if p.fields != other.fields {
		return p.fields > other.fields
	}
	return len(p.onKeys) > len(other.onKeys)
}

// isUseful says that the index helps the filter or the order.
func (p *plan) isUseful() bool { return p.isEmpty || p.fields > 0 || p.sorted && len(p.sort) > 0 }

// planIndex returns the plan that reads an index.
func planIndex(coll *collection, i *index, nodes all, order []sortField) *plan {
	p := &plan{coll: coll, nodes: nodes, index: i, sort: order, onKeys: map[int][]*within{}}
	used := make([]bool, len(nodes))
	bounds := []keyRange{{low: i.prefix, prefixLength: len(i.prefix)}}
	points := make([]int, 0, len(i.Fields)) // how many values each of the leading fields may have
	for f := range i.Fields {
		field := &i.Fields[f]
		intervals, isEmpty := intervalsOf(field, nodes, used)
		if isEmpty {
			p.isEmpty, p.exact = true, true
			return p
		}
		if intervals == nil || len(bounds)*len(intervals) > maxRanges {
			break
		}
		p.fields++
		arePoints := !slices.ContainsFunc(intervals, func(one interval) bool { return !one.isPoint() })
		bounds = extend(bounds, intervals, field.Descending, arePoints)
		if !arePoints {
			break
		}
		points = append(points, len(intervals))
	}
	for b := range bounds {
		if bounds[b].high == nil {
			bounds[b].high = prefixEnd(bounds[b].low)
		}
	}
	p.ranges = bounds
	p.decideOnKeys(used)
	p.decideOrder(points)
	return p
}

// intervalsOf returns the sorted intervals that the conditions on a field leave, nil without any.
func intervalsOf(field *indexField, nodes all, used []bool) (intervals []interval, isEmpty bool) {
	for n, one := range nodes {
		condition, ok := one.(*within)
		if !ok || condition.negated || condition.field != field.Field {
			continue
		}
		if field.HasArrays {
			// Each condition may hold for another element: one of them is used, and all are checked on the document.
			if intervals == nil || len(condition.intervals) < len(intervals) || condition.intervals[0].isPoint() {
				intervals = condition.intervals
			}
			if len(condition.intervals) == 0 {
				return nil, true
			}
			continue
		}
		used[n] = !condition.isLoose
		if intervals == nil {
			intervals = condition.intervals
		} else {
			intervals = intersectAll(intervals, condition.intervals)
		}
		if len(intervals) == 0 {
			return nil, true
		}
	}
	return intervals, false
}

func intersectAll(a, b []interval) []interval {
	result := []interval{}
	for _, one := range a {
		for _, other := range b {
			if common, ok := one.intersect(other); ok {
				result = append(result, common)
			}
		}
	}
	return result
}

// extend adds the intervals of one more field to each range.
func extend(bounds []keyRange, intervals []interval, descending, arePoints bool) []keyRange {
	result := make([]keyRange, 0, len(bounds)*len(intervals))
	for _, bound := range bounds {
		for n := range intervals {
			one := intervals[n]
			if descending {
				one = intervals[len(intervals)-1-n]
				one = interval{
					low: inverted(one.high), high: inverted(one.low),
					lowExcluded: one.highExcluded, highExcluded: one.lowExcluded,
				}
			}
			next := keyRange{low: slices.Concat(bound.low, one.low), prefixLength: bound.prefixLength}
			if arePoints {
				next.prefixLength = len(next.low)
			} else {
				next.high = slices.Concat(bound.low, one.high)
				if one.lowExcluded {
					next.low = prefixEnd(next.low)
				}
				if !one.highExcluded {
					next.high = prefixEnd(next.high)
				}
			}
			result = append(result, next)
		}
	}
	return result
}

func inverted(key []byte) []byte {
	result := slices.Clone(key)
	invert(result)
	return result
}

// decideOnKeys finds the conditions that keys decide, and whether keys decide all of them.
func (p *plan) decideOnKeys(used []bool) {
	p.exact = true
	for n, one := range p.nodes {
		condition, ok := one.(*within)
		if !ok {
			p.exact = false
			continue
		}
		position := slices.IndexFunc(p.index.Fields, func(field indexField) bool { return field.Field == condition.field })
		if position < 0 || p.index.Fields[position].HasArrays || condition.isLoose {
			p.exact = false
			continue
		}
		if position < p.fields && used[n] {
			continue
		}
		p.onKeys[position] = append(p.onKeys[position], condition)
	}
}

// decideOrder determines whether the index returns the documents in order. points are the numbers of values of the leading fields.
func (p *plan) decideOrder(points []int) {
	if len(p.sort) == 0 {
		p.sorted = true
		return
	}
	next, direction, merged := 0, 0, false
	skipConstant := func() {
		for next < len(p.sort) && p.isConstant(p.sort[next].field, points) {
			next++
		}
	}
	matches := func(field *indexField) bool {
		wanted := p.sort[next]
		if field.Field != wanted.field || field.HasArrays {
			return false
		}
		sign := 1
		if field.Descending != wanted.descending {
			sign = -1
		}
		if direction == 0 {
			direction = sign
		}
		return sign == direction
	}
	for f := range p.index.Fields {
		if skipConstant(); next == len(p.sort) {
			break
		}
		field := &p.index.Fields[f]
		isPoints := f < len(points)
		switch {
		case isPoints && points[f] == 1 && !field.HasArrays:
			continue
		case !merged && matches(field):
			next++
		case merged && !isPoints && matches(field):
			next++
		case isPoints:
			merged = true
		default:
			return
		}
	}
	skipConstant()
	p.sorted = next == len(p.sort) && (!merged || len(p.ranges) <= maxMerged)
	p.merged = merged && p.sorted && len(p.ranges) > 1
	p.reverse = direction < 0
	if p.sorted && !p.merged && p.reverse {
		slices.Reverse(p.ranges)
	}
}

// isConstant says that all results have the same value in a field.
func (p *plan) isConstant(field string, points []int) bool {
	for f := range points {
		if p.index.Fields[f].Field == field {
			return points[f] == 1 && !p.index.Fields[f].HasArrays
		}
	}
	return false
}

// planUnion returns a plan for a disjunction whose branches all have an index, nil if none exists.
func planUnion(
	reader pebble.Reader, coll *collection, indexes []*index, nodes all, order []sortField, query *Query,
) (*plan, error) {
	for _, one := range nodes {
		branches, ok := one.(anyOf)
		if !ok {
			continue
		}
		union := &plan{coll: coll, nodes: nodes, sort: order, sorted: len(order) == 0}
		for _, branch := range branches {
			var best *plan
			for _, i := range append([]*index{coll.idIndex}, indexes...) {
				candidate := planIndex(coll, i, flatten(branch), nil)
				if candidate.fields == 0 && !candidate.isEmpty {
					continue
				}
				if err := candidate.measureUnlessEmpty(reader); err != nil {
					return nil, err
				}
				if best == nil || candidate.isBetter(best, query) {
					best = candidate
				}
			}
			if best == nil {
				union = nil
				break
			}
			if !best.isEmpty {
				union.branches = append(union.branches, best)
			}
		}
		if union != nil {
			union.isEmpty = len(union.branches) == 0
			return union, nil
		}
	}
	return nil, nil
}

func (p *plan) measureUnlessEmpty(reader pebble.Reader) error {
	if p.isEmpty {
		return nil
	}
	return p.measure(reader)
}
