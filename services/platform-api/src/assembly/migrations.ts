import { type Database, dropIndexIfExists, indexNames, UploadList } from '@fleet/storage';
import { vehicleDefaults } from '../domains/vehicles/rules.ts';
import { indexes, indexName, replacedIndexes } from '../store/indexes.ts';
import type { Migration } from '../store/migrate.ts';

/** Returns a migration that sets fields where they are absent. */
const setMissingFields =
  (collection: string, fields: Readonly<Record<string, unknown>>) =>
  async (database: Database): Promise<void> => {
    for (const [field, value] of Object.entries(fields))
      await database.collection(collection).updateMany({ [field]: { $exists: false } }, { $set: { [field]: value } });
  };

interface OldVehicle {
  readonly _id: number;
  readonly accountId: number;
  readonly vehicleNo: string;
  readonly imei: string;
}

/** Completes vehicles of the first release, which had only a number, a terminal and a clock. */
async function completeVehicles(database: Database): Promise<void> {
  const vehicles = database.collection<OldVehicle>('vehicles');
  const values = database.collection<{ _id: string; recordId: number; takenAt: Date }>('unique_values');
  const { imei: _imei, cameraUtcOffset: _offset, ...defaults } = vehicleDefaults;
  for await (const { _id, accountId, vehicleNo, imei } of vehicles.find({ name: { $exists: false } })) {
    const key = `vehicles.vehicleNo:${accountId}:${vehicleNo}`;
    await values.updateOne({ _id: key }, { $setOnInsert: { recordId: _id, takenAt: new Date() } }, { upsert: true });
    const fields: object = { ...defaults, name: vehicleNo, recordedImei: imei };
    await vehicles.updateOne({ _id }, { $set: fields });
  }
}

/** Drops indexes that wider ones replace, once the wider ones exist. */
async function replaceIndexes(database: Database): Promise<void> {
  for (const name of new Set(replacedIndexes.map(({ collection }) => collection))) {
    const collection = database.collection(name);
    const existing = await indexNames(collection);
    const replaced = replacedIndexes
      .filter((index) => index.collection === name)
      .map(({ keys }) => indexName(keys))
      .filter((index) => existing.includes(index));
    if (replaced.length === 0) continue;
    for (const index of indexes) if (index.collection === name) await collection.createIndex({ ...index.keys });
    for (const index of replaced) await dropIndexIfExists(collection, index);
  }
}

/** Numbers uploads, and adds their vehicles, so that they are listed as downloads. */
async function listUploads(database: Database): Promise<void> {
  const vehicles = database.collection<OldVehicle>('vehicles');
  await new UploadList(database).addUnlisted(
    async (accountId, imei) => (await vehicles.findOne({ accountId, imei }))?._id ?? null,
  );
}

/** All migrations, in the order of their ids. */
export const migrations: readonly Migration[] = [
  {
    id: 1,
    name: 'add status, dealer and time zone to accounts',
    up: setMissingFields('accounts', { status: 'active', dealerAccountId: null, timezone: 'UTC' }),
  },
  {
    id: 2,
    name: 'add phone number, settings, two-factor log-in and disabled to users',
    up: setMissingFields('users', {
      phoneNumber: null,
      canViewVideo: true,
      language: 'en',
      timezone: 'UTC',
      totp: null,
      disabled: false,
      lastLoginAt: null,
    }),
  },
  {
    id: 3,
    name: 'add creator, token minting and dashboard key to API keys',
    up: setMissingFields('api_keys', { userId: null, canMintTokens: false, sealedDashboardKey: null }),
  },
  { id: 4, name: 'complete vehicles and reserve their numbers', up: completeVehicles },
  {
    id: 5,
    name: 'add place and deletion to accounts',
    up: setMissingFields('accounts', { city: null, country: null, deletedAt: null, isEnded: false, erasedAt: null }),
  },
  {
    id: 6,
    name: 'add verification of the phone number to users',
    up: setMissingFields('users', { phoneVerifiedAt: null }),
  },
  { id: 7, name: 'replace indexes by ones with the fields of filters', up: replaceIndexes },
  {
    id: 8,
    name: 'schedule thumbnails of media',
    up: setMissingFields('media', { previewDueAt: new Date(0), preview: null, previewAttempts: 0 }),
  },
  { id: 9, name: 'number uploads and add their vehicles', up: listUploads },
];
