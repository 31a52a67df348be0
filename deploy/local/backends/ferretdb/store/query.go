package store

import (
	"bytes"
	"cmp"
	"container/heap"
	"encoding/binary"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/FerretDB/FerretDB/internal/handler/common"
	"github.com/FerretDB/FerretDB/internal/types"
	"github.com/FerretDB/FerretDB/internal/util/iterator"
)

// Result is the documents that a query found, one after another. It reads from a snapshot: writes do not change it.
type Result struct {
	store    *Store
	snapshot *pebble.Snapshot
	query    *Query
	plan     *plan
	source   source
	skip     int64
	left     int64 // documents still to return, -1 for no limit
	err      error
	// matched is the decoded document, where the filter had to decode it.
	matched *types.Document
}

// source returns the records of a plan in order, each at most once.
type source interface {
	// next returns the number of the next record, and its document where the source has read it. ok is false at the end.
	next() (record int64, raw []byte, ok bool)
	close() error
}

// Find returns the documents of a query. The caller closes the result.
func (s *Store) Find(database, name string, query *Query) (*Result, error) {
	coll := s.catalog.get(database, name)
	if coll == nil {
		return &Result{store: s, source: emptySource{}}, nil
	}
	return s.find(coll, query)
}

func (s *Store) find(coll *collection, query *Query) (*Result, error) {
	result, err := s.open(coll, query)
	if err != nil {
		return nil, err
	}
	if !result.plan.sorted {
		if err := result.sort(); err != nil {
			result.Close()
			return nil, err
		}
	}
	return result, nil
}

// open returns the unsorted result of a query.
func (s *Store) open(coll *collection, query *Query) (*Result, error) {
	coll.view.RLock()
	snapshot := s.db.NewSnapshot()
	indexes := *coll.indexes.Load()
	coll.view.RUnlock()
	result := &Result{store: s, snapshot: snapshot, query: query, skip: query.Skip, left: -1}
	if query.Limit > 0 {
		result.left = query.Limit
	}
	var err error
	if query.Plain {
		order := sortOf(query.Sort)
		result.plan = &plan{coll: coll, nodes: all{unknown{}}, sort: order, sorted: len(order) == 0}
	} else if result.plan, err = newPlan(snapshot, coll, indexes, query); err != nil {
		result.Close()
		return nil, err
	}
	if result.source, err = newSource(snapshot, result.plan); err != nil {
		result.Close()
		return nil, err
	}
	return result, nil
}

// Close releases the snapshot.
func (r *Result) Close() {
	if r.source != nil {
		if err := r.source.close(); err != nil && r.err == nil {
			r.err = err
		}
		r.source = nil
	}
	if r.snapshot != nil {
		_ = r.snapshot.Close()
		r.snapshot = nil
	}
}

// Next returns the BSON of the next document, nil at the end. The bytes are the caller's.
func (r *Result) Next() ([]byte, error) {
	for r.left != 0 && r.source != nil {
		_, raw, ok, err := r.nextMatch(r.skip == 0)
		if err != nil || !ok {
			return nil, err
		}
		if r.skip > 0 {
			r.skip--
			continue
		}
		if r.left > 0 {
			r.left--
		}
		return raw, nil
	}
	return nil, nil
}

// NextProjected returns the next document with the fields that a projection chooses, nil at the end.
func (r *Result) NextProjected(projection *Projection) ([]byte, error) {
	raw, err := r.Next()
	if err != nil || raw == nil {
		return nil, err
	}
	return projection.apply(raw), nil
}

// Document returns the next document decoded, nil at the end.
func (r *Result) Document() (*types.Document, error) {
	raw, err := r.Next()
	if err != nil || raw == nil {
		return nil, err
	}
	if r.matched != nil {
		return r.matched, nil
	}
	return decodeDocument(raw)
}

// nextMatch returns the next record that the filter lets through, and closes the result at the end.
func (r *Result) nextMatch(withDocument bool) (record int64, raw []byte, ok bool, err error) {
	record, raw, ok, err = r.scan(withDocument)
	if err == nil && !ok {
		err = r.close()
	}
	return record, raw, ok, err
}

// scan returns the next record that the filter lets through. It reads the document where the filter or the caller needs it.
func (r *Result) scan(withDocument bool) (record int64, raw []byte, ok bool, err error) {
	for {
		record, raw, ok := r.source.next()
		if !ok {
			return 0, nil, false, nil
		}
		r.matched = nil
		if r.plan.exact && !withDocument {
			return record, nil, true, nil
		}
		if raw == nil {
			if raw, err = r.read(record); err != nil {
				return 0, nil, false, err
			}
			if raw == nil {
				continue
			}
		}
		matches, err := r.matches(raw)
		if err != nil {
			return 0, nil, false, err
		}
		if matches {
			return record, raw, true, nil
		}
	}
}

func (r *Result) close() error {
	r.Close()
	return r.err
}

// matches applies the filter to a document. It decodes the document where its bytes do not decide.
func (r *Result) matches(raw []byte) (bool, error) {
	r.matched = nil
	if r.plan.exact {
		return true, nil
	}
	switch r.plan.nodes.check(raw) {
	case yes:
		return true, nil
	case no:
		return false, nil
	}
	document, err := decodeDocument(raw)
	if err != nil {
		return false, err
	}
	matches, err := common.FilterDocument(document, r.query.Filter)
	if matches {
		r.matched = document
	}
	return matches, err
}

// read returns a copy of the document of a record. It returns nil if the document was deleted, or does not match by its bytes.
func (r *Result) read(record int64) ([]byte, error) {
	value, closer, err := r.snapshot.Get(recordKey(r.plan.coll.prefix, record))
	if err == pebble.ErrNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	if !r.plan.exact && r.plan.nodes.check(value) == no {
		return nil, nil
	}
	return slices.Clone(value), nil
}

// Count returns how many documents a query finds.
func (s *Store) Count(database, name string, query *Query) (int64, error) {
	coll := s.catalog.get(database, name)
	if coll == nil {
		return 0, nil
	}
	result, err := s.open(coll, query)
	if err != nil {
		return 0, err
	}
	defer result.Close()
	var count int64
	for query.Limit == 0 || count < query.Limit+query.Skip {
		_, _, ok, err := result.nextMatch(false)
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		count++
	}
	return max(0, count-query.Skip), result.err
}

// sort replaces the source by the sorted records. Documents that only FerretDB's code can order are decoded.
func (r *Result) sort() error {
	top := &topRecords{limit: -1}
	if r.left > 0 {
		top.limit = int(r.left + r.skip)
	}
	for {
		record, raw, ok, err := r.scan(true)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		key, isPlain := orderKey(raw, r.plan.sort)
		if !isPlain {
			return r.sortDecoded()
		}
		top.add(sortedRecord{key: key, record: record})
	}
	return r.restart(&listSource{records: top.sorted()})
}

func (r *Result) restart(next source) error {
	err := r.source.close()
	r.source = next
	sorted := *r.plan
	sorted.nodes, sorted.exact = nil, true // every record has passed the filter
	r.plan = &sorted
	return err
}

// sortDecoded sorts the documents with FerretDB's own code: arrays sort by their least or greatest element.
func (r *Result) sortDecoded() error {
	first, err := newSource(r.snapshot, r.plan)
	if err != nil {
		return err
	}
	if err := r.source.close(); err != nil {
		return err
	}
	r.source = first
	var documents []*types.Document
	for {
		record, raw, ok, err := r.scan(true)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		document := r.matched
		if document == nil {
			if document, err = decodeDocument(raw); err != nil {
				return err
			}
		}
		document.SetRecordID(record)
		documents = append(documents, document)
	}
	if err := common.SortDocuments(documents, r.query.Sort); err != nil {
		return err
	}
	records := make([]int64, len(documents))
	for i, document := range documents {
		records[i] = document.RecordID()
	}
	return r.restart(&listSource{records: records})
}

// orderKey returns bytes that sort as the document does. The second result is false where a field is an array.
func orderKey(raw []byte, order []sortField) ([]byte, bool) {
	var key []byte
	for i := range order {
		value, found := lookupPath(raw, order[i].path)
		if found == array || found == throughs {
			return nil, false
		}
		start := len(key)
		key = appendValue(key, value)
		if order[i].descending {
			invert(key[start:])
		}
	}
	return key, true
}

type sortedRecord struct {
	key    []byte
	record int64
}

func compareSorted(a, b sortedRecord) int {
	return cmp.Or(bytes.Compare(a.key, b.key), cmp.Compare(a.record, b.record))
}

// topRecords keeps the first records of an order: a heap with the last of them on top.
type topRecords struct {
	records []sortedRecord
	limit   int // -1: all
}

func (t *topRecords) Len() int           { return len(t.records) }
func (t *topRecords) Less(i, j int) bool { return compareSorted(t.records[i], t.records[j]) > 0 }
func (t *topRecords) Swap(i, j int)      { t.records[i], t.records[j] = t.records[j], t.records[i] }
func (t *topRecords) Push(item any)      { t.records = append(t.records, item.(sortedRecord)) }
func (t *topRecords) Pop() any {
	last := t.records[len(t.records)-1]
	t.records = t.records[:len(t.records)-1]
	return last
}

func (t *topRecords) add(one sortedRecord) {
	switch {
	case t.limit < 0:
		t.records = append(t.records, one)
	case len(t.records) < t.limit:
		heap.Push(t, one)
	case compareSorted(one, t.records[0]) < 0:
		t.records[0] = one
		heap.Fix(t, 0)
	}
}

func (t *topRecords) sorted() []int64 {
	slices.SortFunc(t.records, compareSorted)
	records := make([]int64, len(t.records))
	for i := range t.records {
		records[i] = t.records[i].record
	}
	return records
}

// Documents returns the result as an iterator of FerretDB. Closing the iterator closes the result.
func (r *Result) Documents() types.DocumentsIterator { return &documents{r} }

type documents struct{ result *Result }

func (d *documents) Next() (struct{}, *types.Document, error) {
	document, err := d.result.Document()
	if err == nil && document == nil {
		err = iterator.ErrIteratorDone
	}
	return struct{}{}, document, err
}

func (d *documents) Close() { d.result.Close() }

type emptySource struct{}

func (emptySource) next() (int64, []byte, bool) { return 0, nil, false }
func (emptySource) close() error                { return nil }

// listSource returns the records of a list.
type listSource struct {
	records []int64
	at      int
}

func (l *listSource) next() (int64, []byte, bool) {
	if l.at == len(l.records) {
		return 0, nil, false
	}
	l.at++
	return l.records[l.at-1], nil, true
}

func (l *listSource) close() error { return nil }

func newSource(reader pebble.Reader, p *plan) (source, error) {
	switch {
	case p.isEmpty:
		return emptySource{}, nil
	case p.branches != nil:
		return newUnionSource(reader, p)
	case p.index == nil:
		return newScanSource(reader, p)
	case p.isLookup() && !p.reverse:
		return lookUp(reader, p)
	case p.merged:
		return newMergedSource(reader, p)
	}
	return newIndexSource(reader, p, p.ranges)
}

// lookUp reads the records of single _ids.
func lookUp(reader pebble.Reader, p *plan) (source, error) {
	var list listSource
	for _, one := range p.ranges {
		value, closer, err := reader.Get(one.low)
		if err == pebble.ErrNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		list.records = append(list.records, int64(binary.BigEndian.Uint64(value)))
		closer.Close()
	}
	return &list, nil
}

// scanSource reads a collection in the order of insertion.
type scanSource struct {
	iter    *pebble.Iterator
	started bool
}

func newScanSource(reader pebble.Reader, p *plan) (source, error) {
	prefix := p.coll.prefix
	iter, err := reader.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: prefixEnd(prefix)})
	return &scanSource{iter: iter}, err
}

func (s *scanSource) next() (int64, []byte, bool) {
	if !s.started {
		s.started = true
		s.iter.First()
	} else {
		s.iter.Next()
	}
	if !s.iter.Valid() {
		return 0, nil, false
	}
	value, err := s.iter.ValueAndErr()
	if err != nil {
		return 0, nil, false
	}
	return recordOf(s.iter.Key()), slices.Clone(value), true
}

func (s *scanSource) close() error { return s.iter.Close() }

// indexSource reads ranges of an index, one after another.
type indexSource struct {
	plan   *plan
	iter   *pebble.Iterator
	ranges []keyRange
	at     int
	open   bool
	seen   map[int64]struct{} // only where a record may have several entries
}

func newIndexSource(reader pebble.Reader, p *plan, ranges []keyRange) (*indexSource, error) {
	if len(ranges) == 0 {
		ranges = []keyRange{{low: p.index.prefix, high: p.index.prefix}}
	}
	low, high := ranges[0].low, ranges[0].high
	for _, one := range ranges[1:] {
		low, high = minKey(low, one.low), maxKey(high, one.high)
	}
	iter, err := reader.NewIter(&pebble.IterOptions{LowerBound: low, UpperBound: high})
	if err != nil {
		return nil, err
	}
	s := &indexSource{plan: p, iter: iter, ranges: ranges}
	if p.index.hasArrays() {
		s.seen = map[int64]struct{}{}
	}
	return s, nil
}

func minKey(a, b []byte) []byte {
	if bytes.Compare(a, b) < 0 {
		return a
	}
	return b
}

func maxKey(a, b []byte) []byte {
	if bytes.Compare(a, b) > 0 {
		return a
	}
	return b
}

// advance moves the iterator to the next key of the ranges.
func (s *indexSource) advance() bool {
	for s.at < len(s.ranges) {
		one := &s.ranges[s.at]
		switch {
		case !s.open && s.plan.reverse:
			s.iter.SeekLT(one.high)
		case !s.open:
			s.iter.SeekGE(one.low)
		case s.plan.reverse:
			s.iter.Prev()
		default:
			s.iter.Next()
		}
		s.open = true
		if s.iter.Valid() {
			key := s.iter.Key()
			if s.plan.reverse && bytes.Compare(key, one.low) >= 0 || !s.plan.reverse && bytes.Compare(key, one.high) < 0 {
				return true
			}
		} else if s.iter.Error() != nil {
			return false
		}
		s.open = false
		s.at++
	}
	return false
}

func (s *indexSource) next() (int64, []byte, bool) {
	for s.advance() {
		if !s.plan.keyMatches(s.iter.Key()) {
			continue
		}
		record := s.record()
		if s.seen != nil {
			if _, known := s.seen[record]; known {
				continue
			}
			s.seen[record] = struct{}{}
		}
		return record, nil, true
	}
	return 0, nil, false
}

func (s *indexSource) record() int64 {
	if s.plan.index.isID {
		return int64(binary.BigEndian.Uint64(s.iter.Value()))
	}
	return recordOf(s.iter.Key())
}

func (s *indexSource) close() error { return s.iter.Close() }

// keyMatches applies the conditions that keys decide.
func (p *plan) keyMatches(key []byte) bool {
	if len(p.onKeys) == 0 {
		return true
	}
	rest := key[len(p.index.prefix):]
	pending := len(p.onKeys)
	for f := range p.index.Fields {
		descending := p.index.Fields[f].Descending
		length := valueLength(rest, descending)
		if length == 0 {
			return true
		}
		if conditions := p.onKeys[f]; conditions != nil {
			part := rest[:length]
			if descending {
				part = inverted(part)
			}
			for _, condition := range conditions {
				if condition.checkKey(part) == no {
					return false
				}
			}
			if pending--; pending == 0 {
				return true
			}
		}
		rest = rest[length:]
	}
	return true
}

// mergedSource reads several ranges of an index at once, in the order of what follows their prefixes.
type mergedSource struct {
	plan    *plan
	sources []*indexSource // a heap: the next one first
	started bool
	seen    map[int64]struct{}
}

func newMergedSource(reader pebble.Reader, p *plan) (source, error) {
	merged := &mergedSource{plan: p}
	if p.index.hasArrays() {
		merged.seen = map[int64]struct{}{}
	}
	for i := range p.ranges {
		one, err := newIndexSource(reader, p, p.ranges[i:i+1])
		if err != nil {
			_ = merged.close()
			return nil, err
		}
		merged.sources = append(merged.sources, one)
	}
	return merged, nil
}

func (m *mergedSource) Len() int { return len(m.sources) }
func (m *mergedSource) Less(i, j int) bool {
	order := bytes.Compare(m.sources[i].suffix(), m.sources[j].suffix())
	if m.plan.reverse {
		return order > 0
	}
	return order < 0
}
func (m *mergedSource) Swap(i, j int) { m.sources[i], m.sources[j] = m.sources[j], m.sources[i] }
func (m *mergedSource) Push(item any) { m.sources = append(m.sources, item.(*indexSource)) }
func (m *mergedSource) Pop() any {
	last := m.sources[len(m.sources)-1]
	m.sources = m.sources[:len(m.sources)-1]
	return last
}

func (s *indexSource) suffix() []byte { return s.iter.Key()[s.ranges[0].prefixLength:] }

// step moves one source to its next key that matches.
func (s *indexSource) step() bool {
	for s.advance() {
		if s.plan.keyMatches(s.iter.Key()) {
			return true
		}
	}
	return false
}

func (m *mergedSource) next() (int64, []byte, bool) {
	if !m.started {
		m.started = true
		remaining := m.sources
		m.sources = nil
		for _, one := range remaining {
			if one.step() {
				m.sources = append(m.sources, one)
			} else {
				_ = one.close()
			}
		}
		heap.Init(m)
	}
	for len(m.sources) > 0 {
		first := m.sources[0]
		record := first.record()
		if first.step() {
			heap.Fix(m, 0)
		} else {
			_ = first.close()
			heap.Pop(m)
		}
		if m.seen != nil {
			if _, known := m.seen[record]; known {
				continue
			}
			m.seen[record] = struct{}{}
		}
		return record, nil, true
	}
	return 0, nil, false
}

func (m *mergedSource) close() error {
	var first error
	for _, one := range m.sources {
		if err := one.close(); err != nil && first == nil {
			first = err
		}
	}
	m.sources = nil
	return first
}

// newUnionSource returns the records of all branches of a disjunction in the order of insertion.
func newUnionSource(reader pebble.Reader, p *plan) (source, error) {
	var records []int64
	for _, branch := range p.branches {
		one, err := newSource(reader, branch)
		if err != nil {
			return nil, err
		}
		for {
			record, _, ok := one.next()
			if !ok {
				break
			}
			records = append(records, record)
		}
		if err := one.close(); err != nil {
			return nil, err
		}
	}
	slices.Sort(records)
	return &listSource{records: slices.Compact(records)}, nil
}
