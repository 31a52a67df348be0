import { ApiFailure, type components } from '@fleet/api-client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { storeRecord } from '../../common/data/store-record.ts';
import { readAllPages } from '../../common/fleet/queries.ts';
import type { Driver } from '../../common/fleet/vehicle.ts';
import { useSendOnce } from '../../common/forms/use-send-once.ts';
import { useSession } from '../../common/session/session-context.ts';
import { readAsBase64 } from './read-as-base64.ts';

export type StoredDocument = components['schemas']['StoredDocument'];

/** Kinds of documents that a driver has. */
export const documentTypes = ['driver_license', 'id_card', 'passport', 'insurance', 'vehicle_registration'] as const;
export type DocumentType = (typeof documentTypes)[number];

/** A file to store with a driver. */
export interface NewDocument {
  readonly file: File;
  readonly type: DocumentType;
}

const maxEvents = 20;

export function useDriver(id: number) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['getDriver', id],
    enabled: Number.isSafeInteger(id),
    queryFn: async () => {
      const { data } = await api.GET('/api/drivers/{id}', { params: { path: { id } } });
      if (data === undefined) throw new Error('The server returned no driver.');
      return data.data;
    },
  });
}

/** Returns the query of the newest events of a driver. */
export function useDriverEvents(driverId: number) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listNotifications', 'driver', driverId],
    queryFn: async () => {
      const query = { driver_id: driverId, limit: maxEvents };
      return (await api.GET('/api/notifications', { params: { query } })).data?.data ?? [];
    },
  });
}

export function useDocuments(driverId: number) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listDocuments', driverId],
    queryFn: () =>
      readAllPages<StoredDocument>(async (page) => {
        const query = { ...page, driver_id: driverId, sort: '-id' as const };
        return (await api.GET('/api/documents', { params: { query } })).data?.data;
      }),
  });
}

/** Returns the mutation that stores a file with a driver. A repeated click stores it once. */
export function useStoreDocument() {
  const { api } = useSession();
  const queries = useQueryClient();
  const send = useSendOnce();
  return useMutation({
    mutationFn: async ({ driverId, document }: { driverId: number; document: NewDocument }) => {
      const { file, type } = document;
      const body = { content_base64: await readAsBase64(file), document_type: type, driver_id: driverId };
      return send(body, (header) => api.POST('/api/documents', { body, params: { header } }));
    },
    onSuccess: (_, { driverId }) => queries.invalidateQueries({ queryKey: ['listDocuments', driverId] }),
  });
}

interface Change {
  readonly body: Readonly<Record<string, unknown>>;
  /** The version that the form loaded. */
  readonly version: number;
}

/** Saves changes of a driver. `stored` is the record as somebody else changed it, after a save met another version. */
export function useSaveDriver(id: number) {
  const { api } = useSession();
  const queries = useQueryClient();
  const [stored, setStored] = useState<Driver | null>(null);
  const path = { id };
  const save = useMutation({
    mutationFn: async ({ body, version }: Change) => {
      const header = { 'If-Match': `"${version}"` };
      return (await api.PUT('/api/drivers/{id}', { params: { path, header }, body })).data?.data;
    },
    onSuccess: async (driver) => {
      setStored(null);
      await storeRecord(queries, ['getDriver', id], driver);
      await Promise.all(
        ['listDrivers', 'listVehicles', 'getVehicle'].map((key) => queries.invalidateQueries({ queryKey: [key] })),
      );
    },
    onError: async (error) => {
      if (!(error instanceof ApiFailure) || error.status !== 412) return;
      const { data } = await api.GET('/api/drivers/{id}', { params: { path } });
      setStored(data?.data ?? null);
    },
  });
  return { save, stored, discard: () => setStored(null) };
}
