import type { FleetRecord, FleetTable } from './fleet-table.ts';

/** Changes of several records are read together. */
const debounceMs = 1_000;
const firstRetryMs = 2_000;
const maxRetryMs = 30_000;

interface FleetResponse {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  readonly removed: readonly number[];
  readonly complete: boolean;
  readonly generated_at: string;
}

/** Reads the vehicles of the table with `GET /api/fleet`; after the first time only what has changed. */
export class FleetReader {
  readonly #table: FleetTable;
  readonly #onRead: (isCurrent: boolean) => void;
  readonly #onFailed: () => void;
  #headers: Readonly<Record<string, string>> = {};
  #generatedAt: string | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isReading = false;
  #isDueAgain = false;
  #retryMs = firstRetryMs;

  /**
   * `onRead` learns whether no further read is due. `onFailed` is called if the credentials may have expired: new ones
   * are to be set.
   */
  constructor(
    table: FleetTable,
    listener: { readonly onRead: (isCurrent: boolean) => void; readonly onFailed: () => void },
  ) {
    this.#table = table;
    this.#onRead = listener.onRead;
    this.#onFailed = listener.onFailed;
  }

  set headers(headers: Readonly<Record<string, string>>) {
    this.#headers = headers;
  }

  /** Reads after a moment, together with further changes. */
  readSoon(): void {
    this.#timer ??= setTimeout(() => void this.read(), debounceMs);
  }

  async read(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isReading) {
      this.#isDueAgain = true;
      return;
    }
    this.#isReading = true;
    this.#isDueAgain = false;
    try {
      this.#apply(await this.#fetch());
      this.#retryMs = firstRetryMs;
      this.#onRead(!this.#isDueAgain);
      if (this.#isDueAgain) this.readSoon();
    } catch {
      // The page shows that it catches up until a later attempt succeeds.
      this.#timer = setTimeout(() => void this.read(), this.#retryMs);
      this.#retryMs = Math.min(maxRetryMs, this.#retryMs * 2);
    } finally {
      this.#isReading = false;
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  async #fetch(): Promise<FleetResponse> {
    const query = this.#generatedAt === null ? '' : `?updated_since=${Date.parse(this.#generatedAt)}`;
    const response = await fetch(`/api/fleet${query}`, { headers: this.#headers });
    if (response.status === 401) this.#onFailed();
    if (!response.ok) throw new Error(`The vehicles could not be read: ${response.status}.`);
    return ((await response.json()) as { data: FleetResponse }).data;
  }

  #apply({ columns, rows, removed, complete, generated_at: generatedAt }: FleetResponse): void {
    const ids = new Set<number>();
    for (const row of rows) {
      const record: FleetRecord = Object.fromEntries(columns.map((name, at) => [name, row[at]]));
      ids.add(Number(record['vehicle_id']));
      this.#table.setVehicle(record);
    }
    if (complete) this.#table.keepOnly(ids);
    for (const id of removed) this.#table.removeVehicle(id);
    this.#generatedAt = generatedAt;
  }
}
