import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { type Static, Type } from 'typebox';
import { BackupError } from './backup-error.ts';

const count = Type.Integer({ minimum: 0 });
const storedFile = {
  /** Path within the backup. */
  file: Type.String({ pattern: '^[^/].*$' }),
  bytes: count,
  sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
};
const jsonObject = Type.Record(Type.String(), Type.Unknown());

const collectionSchema = Type.Object({ name: Type.String(), documents: count, metadata: Type.String(), ...storedFile });

const streamSchema = Type.Object({
  name: Type.String(),
  messages: count,
  description: Type.Object({ config: jsonObject, state: jsonObject }),
  /** Durable consumers to create at the restore; the snapshot of a work queue contains its own. */
  consumers: Type.Array(Type.Object({ config: jsonObject, acknowledgedSequence: count })),
  ...storedFile,
});

const filesSchema = Type.Object({ count, total_bytes: count, ...storedFile });

const manifestSchema = Type.Object({
  format: Type.Literal(1),
  created_at: Type.String(),
  finished_at: Type.String(),
  mongodb: Type.Array(collectionSchema),
  jetstream: Type.Array(streamSchema),
  /** Clips, pictures and attachments; null for a backup without them. */
  files: Type.Union([filesSchema, Type.Null()]),
});

export type CollectionEntry = Static<typeof collectionSchema>;
export type StreamEntry = Static<typeof streamSchema>;
export type FilesEntry = Static<typeof filesSchema>;
/** Table of contents of a backup. It is written last: a folder without it is incomplete. */
export type Manifest = Static<typeof manifestSchema>;

const manifestName = 'manifest.json';
const isManifest = new Ajv().compile<Manifest>(manifestSchema);

export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  await writeFile(join(folder, manifestName), `${JSON.stringify(manifest, null, 2)}\n`, { flag: 'wx', mode: 0o600 });
}

/** Reads the manifest of a backup. Throws a BackupError if the folder is no complete backup. */
export async function readManifest(folder: string): Promise<Manifest> {
  const path = join(folder, manifestName);
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, 'utf8'));
  } catch (cause) {
    throw new BackupError(`${path} cannot be read: the folder is no backup, or an incomplete one. Use another.`, {
      cause,
    });
  }
  if (!isManifest(value))
    throw new BackupError(`${path} has an unknown format: restore it with the release that wrote it.`);
  return value;
}
