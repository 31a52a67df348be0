/** The fields of a webhook that a form changes. */
export interface ComparedWebhook {
  readonly url: string;
  readonly name: string | null;
  readonly notification_types: readonly string[];
  readonly vehicle_ids: readonly number[];
  readonly headers: Readonly<Record<string, string>>;
  readonly enabled: boolean;
}

/** Fields in the order of the form. */
export const comparedFields = [
  'url',
  'name',
  'notification_types',
  'vehicle_ids',
  'headers',
  'enabled',
] as const satisfies readonly (keyof ComparedWebhook)[];

/** Returns a value whose order does not matter as text. */
function normalize(value: ComparedWebhook[keyof ComparedWebhook]): string {
  if (Array.isArray(value)) return JSON.stringify(value.map(String).toSorted());
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return JSON.stringify(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Returns the fields in which two versions differ. */
export const findChangedFields = (base: ComparedWebhook, other: ComparedWebhook): (typeof comparedFields)[number][] =>
  comparedFields.filter((field) => normalize(base[field]) !== normalize(other[field]));
