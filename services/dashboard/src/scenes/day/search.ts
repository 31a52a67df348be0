/** State of a day replay in its address. */
interface DaySearch {
  /** Time of the playhead in seconds since the epoch. */
  readonly t?: number;
  /** Camera channel of the video. */
  readonly ch?: number;
}

const maxChannel = 255;

/** Returns the valid part of a query string; invalid values are dropped. */
export const parseDaySearch = ({ t, ch }: Record<string, unknown>): DaySearch => ({
  ...(Number.isSafeInteger(t) && (t as number) > 0 ? { t: t as number } : {}),
  ...(Number.isInteger(ch) && (ch as number) > 0 && (ch as number) <= maxChannel ? { ch: ch as number } : {}),
});
