import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { repeatWhenLimited } from '../../../common/data/repeat-when-limited.ts';
import { createIdempotencyKey } from '../../../common/forms/idempotency-key.ts';
import { useSession } from '../../../common/session/session-context.ts';
import type { ImportRow } from '../csv-model.ts';

/** Rows of one request: small enough for a visible progress. */
const rowsPerRequest = 25;

/** A line of the file that was not imported. */
export interface FaultyLine {
  readonly line: number;
  readonly vehicleNo: string;
  readonly faults: readonly string[];
}

type ImportState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'running'; readonly done: number; readonly total: number; readonly waitSeconds: number }
  | {
      readonly kind: 'done';
      readonly created: number;
      readonly updated: number;
      readonly faulty: readonly FaultyLine[];
    }
  | { readonly kind: 'failed'; readonly error: unknown };

type ValidRow = Extract<ImportRow, { body: object }>;

/** Imports rows request by request. Waits when the server limits the rate; a repeated import is harmless. */
export function useImport() {
  const { api } = useSession();
  const queries = useQueryClient();
  const [state, setState] = useState<ImportState>({ kind: 'idle' });
  const sendRows = async (rows: readonly ValidRow[]) => {
    const body = { rows: rows.map((row) => row.body) };
    const params = { header: { 'Idempotency-Key': createIdempotencyKey() } };
    return (await api.POST('/api/vehicles/import', { body, params })).data?.data;
  };
  const run = async (rows: readonly ImportRow[], describeFault: (row: ImportRow) => string): Promise<void> => {
    const faulty: FaultyLine[] = rows.flatMap((row) =>
      'fault' in row ? [{ line: row.line, vehicleNo: '', faults: [describeFault(row)] }] : [],
    );
    const valid = rows.filter((row): row is ValidRow => 'body' in row);
    let [created, updated] = [0, 0];
    const report = (done: number, waitSeconds = 0): void =>
      setState({ kind: 'running', done, total: valid.length, waitSeconds });
    report(0);
    try {
      for (let at = 0; at < valid.length; at += rowsPerRequest) {
        const part = valid.slice(at, at + rowsPerRequest);
        const result = await repeatWhenLimited(
          () => sendRows(part),
          (seconds) => report(at, seconds),
        );
        created += result?.created ?? 0;
        updated += result?.updated ?? 0;
        for (const row of result?.rows ?? []) {
          const source = part[row.index];
          if (row.status !== 'failed' || source === undefined) continue;
          const faults = row.details.map(({ path, message }) => `${path.slice(1)}: ${message}`);
          const { vehicle_no: number } = source.body;
          const vehicleNo = typeof number === 'string' ? number : '';
          faulty.push({ line: source.line, vehicleNo, faults: faults.length > 0 ? faults : [row.error ?? ''] });
        }
        report(at + part.length);
      }
      setState({ kind: 'done', created, updated, faulty: faulty.toSorted((a, b) => a.line - b.line) });
    } catch (error) {
      setState({ kind: 'failed', error });
    } finally {
      await queries.invalidateQueries({ queryKey: ['listVehicles'] });
    }
  };
  return { state, run };
}
