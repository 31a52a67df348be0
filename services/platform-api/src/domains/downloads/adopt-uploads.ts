import { type UnownedUpload, UploadList } from '@fleet/storage';
import type { Deps } from '../../platform/deps.ts';
import { recordClip } from '../media/record-clip.ts';
import { hasForeignPositions } from '../positions/queries.ts';
import { findVehiclesByImei } from '../vehicles/queries.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { publishDownload } from './publish-download.ts';
import { listTenures } from './terminal-tenures.ts';

type AdoptionDeps = Pick<Deps, 'bus' | 'config' | 'database' | 'log' | 'notifications' | 'records' | 'redis'>;

/**
 * Lists the uploads that were requested before the terminal of a vehicle belonged to an account. One that was recorded
 * while another account had the terminal becomes that account's, and is not listed.
 */
export async function adoptUploads(deps: AdoptionDeps, vehicle: Vehicle): Promise<void> {
  const { imei, accountId } = vehicle;
  if (imei === null) return;
  const list = new UploadList(deps.database);
  const unowned = await list.listUnowned(imei);
  if (unowned.length === 0) return;
  const tenures = await listTenures(deps, imei);
  const known = [accountId, ...tenures.map((tenure) => tenure.accountId)];
  // Accounts of earlier releases have no tenure: it is unknown when they had the terminal.
  if (await hasForeignPositions(deps.database, imei, known)) return;
  for (const upload of unowned) {
    const owner = tenures.find(({ endedAtMs }) => upload.clip.startMs < endedAtMs)?.accountId ?? accountId;
    await adoptUpload(deps, vehicle, upload, owner);
  }
}

async function adoptUpload(deps: AdoptionDeps, vehicle: Vehicle, upload: UnownedUpload, owner: number): Promise<void> {
  const isOwn = owner === vehicle.accountId;
  const adopted = await new UploadList(deps.database).adopt(upload, owner, isOwn ? vehicle._id : null);
  if (adopted === null || !isOwn) return;
  // Its file was not recorded when it arrived, as there was no vehicle.
  if (adopted.status === 'completed' && adopted.external !== true)
    await recordClip(deps, vehicle, { record: adopted, receivedAtMs: adopted.changedAtMs, notificationId: null });
  await publishDownload(deps, adopted._id, vehicle);
}

/** Lists what `adoptUploads` has not: uploads that were requested concurrently, and those of earlier releases. */
export async function adoptAllUploads(deps: AdoptionDeps): Promise<void> {
  const imeis = await new UploadList(deps.database).listUnownedTerminals();
  for (const vehicle of (await findVehiclesByImei(deps.records, imeis)).values()) await adoptUploads(deps, vehicle);
}
