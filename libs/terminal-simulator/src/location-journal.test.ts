import { describe, expect, it } from '@jest/globals';
import { encodeBatchBody, LocationJournal, splitIntoBatches } from './location-journal.ts';

function journalWith(count: number, limit = 100): LocationJournal {
  const journal = new LocationJournal(limit);
  for (let id = 0; id < count; id += 1) {
    journal.add({ time: '2026-08-01T12:00:00', body: Buffer.alloc(60, id), alarm: 0 });
  }
  return journal;
}

describe('LocationJournal', () => {
  it('acknowledges the reports sent under the serial once, and none if the result is a refusal', () => {
    const journal = journalWith(3);
    const [a, b, c] = journal.reports;
    journal.recordSent(
      7,
      0x0704,
      [a, b].flatMap((report) => report ?? []),
    );
    journal.recordSent(
      8,
      0x0200,
      [c].flatMap((report) => report ?? []),
    );
    expect(journal.acknowledge(8, 2)).toEqual([]);
    expect(journal.acknowledge(7, 0)).toEqual([a, b]);
    expect(journal.acknowledge(7, 0)).toEqual([]);
    expect(journal.unacknowledged).toEqual([c]);
  });

  it('ignores an acknowledgement of an earlier connection', () => {
    const journal = journalWith(1);
    journal.recordSent(7, 0x0200, journal.reports);
    journal.onConnectionLost();
    expect(journal.acknowledge(7, 0)).toEqual([]);
  });

  it('evicts acknowledged reports first when it is full', () => {
    const journal = journalWith(3, 3);
    const second = journal.reports.slice(1, 2);
    journal.recordSent(1, 0x0200, second);
    journal.acknowledge(1, 0);
    journal.add({ time: '', body: Buffer.alloc(60, 9), alarm: 0 });
    expect(journal.reports.map((report) => report.id)).toEqual([1, 3, 4]);
  });

  it('finds overdue reports', () => {
    const journal = journalWith(2);
    journal.recordSent(1, 0x0200, journal.reports.slice(0, 1));
    expect(journal.findOverdue(Date.now() - 10_000).map((report) => report.id)).toEqual([2]);
    expect(journal.findOverdue(Number.POSITIVE_INFINITY)).toHaveLength(2);
  });
});

describe('batches', () => {
  it('fit one frame each and preserve every report byte for byte and in order', () => {
    const { reports } = journalWith(40);
    const batches = splitIntoBatches(reports);
    expect(batches.flat()).toEqual(reports);
    for (const batch of batches) expect(encodeBatchBody(batch, 1).length).toBeLessThanOrEqual(1023);
    expect(encodeBatchBody(reports.slice(0, 1), 0).toString('hex')).toBe(`000100003c${'00'.repeat(60)}`);
  });
});
