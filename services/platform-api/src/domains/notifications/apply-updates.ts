import { parseAttributes } from '../../platform/fields.ts';
import type { FindingUpdate } from '../../rules/rule.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { findClaimedIds } from './insert-notifications.ts';
import type { Notification } from './schema.ts';
import { findNotification, updateIfUnchanged } from './store.ts';
import { truncateAttributes } from './to-notification.ts';

/** Sets attributes of recorded notifications and returns those that changed. */
export async function applyUpdates(records: RecordStore, items: readonly FindingUpdate[]): Promise<Notification[]> {
  if (items.length === 0) return [];
  const wanted = new Map<string, Record<string, unknown>>();
  for (const { dedupeKey, attributes } of items) wanted.set(dedupeKey, { ...wanted.get(dedupeKey), ...attributes });
  const ids = await findClaimedIds(records, [...wanted.keys()]);
  const changed: Notification[] = [];
  for (const [key, id] of ids) {
    const after = await mergeAttributes(records, id, wanted.get(key) ?? {});
    if (after !== null) changed.push(after);
  }
  return changed;
}

/** Concurrent changes of the same record are rare. */
const maxAttempts = 10;

/** Sets some attributes of a notification; returns null if it has them already, or was deleted. */
export async function mergeAttributes(
  records: RecordStore,
  id: number,
  attributes: Readonly<Record<string, unknown>>,
): Promise<Notification | null> {
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const before = await findNotification(records, id);
    if (before === null) return null;
    const merged = truncateAttributes({ ...parseAttributes(before.attributes), ...attributes });
    if (merged === before.attributes) return null;
    const after = await updateIfUnchanged(records, before, { attributes: merged });
    if (after !== null) return after;
  }
  throw new Error(`notification ${id} is being modified concurrently`);
}
