import { type Check, type Finding, failed, ok, skipped, warning } from './check.ts';

const advice =
  'Read the log of the job migrate (kubectl logs job/migrate) or of platform-api, correct the fault, and run dist/migrate.js again.';

/** Returns the check whether the database has the migrations of the running platform-api. */
export const checkMigrations = (adminUrl: string | undefined): Check => ({
  name: 'Migrations',
  advice: 'Check that platform-api runs, and that --admin-url is its admin port.',
  run: async (signal) => {
    if (adminUrl === undefined) return skipped('no --admin-url');
    const response = await fetch(`${adminUrl}/metrics`, { signal });
    const versions = parseVersions(await response.text());
    if (versions === undefined)
      return failed(
        `${adminUrl} does not state the version of the schema.`,
        'Give the admin port of platform-api, of this release or a later one, as --admin-url.',
      );
    return judgeVersions(versions);
  },
});

interface Versions {
  readonly applied: number;
  readonly required: number;
}

function parseVersions(metrics: string): Versions | undefined {
  const read = (state: string): number =>
    Number(new RegExp(`^platform_schema_version\\{[^}]*state="${state}"[^}]*\\} (\\d+)$`, 'm').exec(metrics)?.[1]);
  const versions = { applied: read('applied'), required: read('required') };
  return Object.values(versions).every(Number.isInteger) ? versions : undefined;
}

function judgeVersions({ applied, required }: Versions): Finding {
  if (applied === 0)
    return failed(`The migrations up to number ${required} are not applied: platform-api is not ready.`, advice);
  if (applied < required)
    return failed(`The database has migrations up to number ${applied}; this release needs ${required}.`, advice);
  if (applied > required)
    return warning(
      `The database has migrations up to number ${applied}; the running release needs only ${required}.`,
      'This is correct after a roll-back. Otherwise a pod of the former release still runs.',
    );
  return ok(`All migrations are applied, up to number ${applied}.`);
}
