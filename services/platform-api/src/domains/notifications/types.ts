import { typeDefinitions } from './type-definitions.ts';

/** Severities of a notification. */
export const severities = ['critical', 'warning', 'info'] as const;

/** One of `severities`. */
export type Severity = (typeof severities)[number];

/** Categories that group notifications in lists and settings. */
export const categories = [
  'emergency',
  'security',
  'driving',
  'driver',
  'adas',
  'dsm',
  'bsd',
  'vehicle',
  'geofence',
  'route',
  'video',
  'device',
  'system',
] as const;

/** One of `categories`. */
export type Category = (typeof categories)[number];

/** Kind of a notification. */
export interface TypeDefinition {
  readonly type: string;
  readonly title: string;
  readonly description: string;
  readonly category: Category;
  readonly severity: Severity;
  /** Whether users receive it unless they choose otherwise. */
  readonly isOnByDefault: boolean;
  /**
   * Sources that raise it: `alarm:<bit>` of the alarm word of 0x0200, `video:<bit>` of item 0x14, `adas:<code>` of item
   * 0x64, `dsm:<code>` of 0x65, `tpms` (0x66), `bsd:<code>` of 0x67, `driving:<code>` of 0x70 (`driving`: any other
   * code), `platform`: detected by the platform.
   */
  readonly sources: readonly string[];
}

const byType = new Map(typeDefinitions.map((kind) => [kind.type, kind]));
const bySource = new Map(
  typeDefinitions.flatMap((kind) =>
    kind.sources.filter((source) => source !== 'platform').map((source) => [source, kind] as const),
  ),
);

/** Returns the kind with a type name. */
export const findTypeDefinition = (type: string): TypeDefinition | undefined => byType.get(type);

/** Returns the kind for a terminal's bit or code, written as in `sources`. */
export const findTypeOfSource = (source: string): TypeDefinition | undefined => bySource.get(source);
