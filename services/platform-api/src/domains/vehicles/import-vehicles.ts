import { AppError, compileBody, describeErrors } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import { type ChangeDeps, changeVehicle, insertVehicle } from './commands.ts';
import type { VehicleHooks } from './hooks.ts';
import type { ImportResponse, ImportRowResponse } from './import-schema.ts';
import { normalizeVehicleNo } from './rules.ts';
import { createVehicleBody, type VehicleBody } from './schema.ts';
import { vehicleCollection } from './store.ts';

const parseRow = compileBody(createVehicleBody, describeErrors);

/**
 * Creates or updates one vehicle for each row, by its number. A row with a fault does not prevent the others. Repeating
 * an import has the same result.
 */
export async function importVehicles(
  deps: ChangeDeps,
  caller: Caller,
  rows: readonly object[],
  hooks: VehicleHooks,
): Promise<ImportResponse> {
  const results: ImportRowResponse[] = [];
  for (const [index, row] of rows.entries()) results.push({ index, ...(await importRow(deps, caller, row, hooks)) });
  const count = (status: ImportRowResponse['status']): number =>
    results.filter((result) => result.status === status).length;
  return { rows: results, created: count('created'), updated: count('updated'), failed: count('failed') };
}

async function importRow(
  deps: ChangeDeps,
  caller: Caller,
  row: object,
  hooks: VehicleHooks,
): Promise<Omit<ImportRowResponse, 'index'>> {
  try {
    const body = parseRow(structuredClone(row)) as VehicleBody & { vehicle_no: string };
    const vehicleNo = normalizeVehicleNo(body.vehicle_no);
    const [known] = await vehicleCollection(deps.records).all({ accountId: caller.accountId }, { vehicleNo });
    if (known === undefined) {
      const created = await insertVehicle(deps, caller, body, hooks);
      return { status: 'created', vehicle_id: created._id, code: null, error: null, details: [] };
    }
    await changeVehicle(deps, caller, { id: known._id, body, hooks, expectedVersion: undefined });
    return { status: 'updated', vehicle_id: known._id, code: null, error: null, details: [] };
  } catch (error) {
    // A fault of the row belongs to the row; a failure of the service ends the import, which can be repeated.
    if (!(error instanceof AppError) || error.status >= 500) throw error;
    const { code, message, details } = error;
    return { status: 'failed', vehicle_id: null, code, error: message, details: [...details] };
  }
}
