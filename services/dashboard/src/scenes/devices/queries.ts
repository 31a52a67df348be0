import { ApiFailure, type components } from '@fleet/api-client';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { readAllPages } from '../../common/fleet/queries.ts';
import { useSendOnce } from '../../common/forms/use-send-once.ts';
import { useVersionedSave } from '../../common/forms/use-versioned-save.ts';
import { useSession } from '../../common/session/session-context.ts';

export type UnassignedDevice = components['schemas']['UnassignedDevice'];
export type MiningDevice = components['schemas']['MiningDevice'];
export type Partner = components['schemas']['Partner'];
export type PartnerWithToken = components['schemas']['PartnerWithToken'];

export const miningStatuses = ['pending', 'active', 'inactive'] as const;
export type MiningStatus = (typeof miningStatuses)[number];

/** Mining devices on one page. */
export const pageSize = 50;

/** Returns the query of all terminals without a vehicle; null if the user may only find single ones. */
export function useUnassignedDevices(isPermitted: boolean) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listUnassignedDevices'],
    enabled: isPermitted,
    queryFn: async () => {
      try {
        return await readAllPages<UnassignedDevice>(async (page) => {
          const query = { ...page, sort: '-id' as const };
          return (await api.GET('/api/unassigned-devices', { params: { query } })).data?.data;
        });
      } catch (error) {
        // The installation has several accounts.
        if (error instanceof ApiFailure && error.status === 403) return null;
        throw error;
      }
    },
  });
}

export function useMiningDevices({ text, status, page }: { text: string; status: '' | MiningStatus; page: number }) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listMiningDevices', { text, status, page }],
    placeholderData: keepPreviousData,
    queryFn: async () => {
      const body = {
        page,
        limit: pageSize,
        sort: '-id' as const,
        ...(text === '' ? {} : { query: text }),
        ...(status === '' ? {} : { filters: { status } }),
      };
      const { data } = await api.POST('/api/mining-devices/list', { body });
      if (data === undefined) throw new Error('The server returned no mining devices.');
      return data;
    },
  });
}

interface Save {
  readonly body: Readonly<Record<string, unknown>>;
  /** The version that the form loaded. */
  readonly version: number;
}

/** Creates or updates a mining device, and reads the list again. */
export function useSaveMiningDevice(device: MiningDevice | null, onSaved: () => void) {
  const { api } = useSession();
  const send = useSendOnce();
  const queries = useQueryClient();
  const path = { id: device?.id ?? 0 };
  return useVersionedSave<MiningDevice, Save>({
    write: async ({ body, version }) => {
      if (device === null) {
        const created = await send(body, (header) =>
          api.POST('/api/mining-devices', { params: { header }, body: body as never }),
        );
        return created.data?.data;
      }
      const params = { path, header: { 'If-Match': `"${version}"` } };
      return (await api.PUT('/api/mining-devices/{id}', { params, body })).data?.data;
    },
    read: async () => (await api.GET('/api/mining-devices/{id}', { params: { path } })).data?.data ?? null,
    onSaved: async () => {
      await queries.invalidateQueries({ queryKey: ['listMiningDevices'] });
      onSaved();
    },
  });
}

export function useRemoveMiningDevice() {
  const { api } = useSession();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ id, version }: MiningDevice) =>
      api.DELETE('/api/mining-devices/{id}', { params: { path: { id }, header: { 'If-Match': `"${version}"` } } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['listMiningDevices'] }),
  });
}

/** Deletes ingested positions and heartbeats; without a number, those of all mining devices. */
export function useClearMiningData() {
  const { api } = useSession();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ imei, before }: { imei: string; before: string }) => {
      const body = {
        confirm: 'CLEAR' as const,
        ...(imei === '' ? {} : { imei }),
        ...(before === '' ? {} : { before: new Date(`${before}T00:00`).getTime() }),
      };
      return (await api.POST('/api/mining-device/clear-database', { body })).data?.data;
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['listMiningDevices'] }),
  });
}

export function usePartners() {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listPartners'],
    queryFn: () =>
      readAllPages<Partner>(async (page) => {
        const query = { ...page, sort: 'name' as const };
        return (await api.GET('/api/partners', { params: { query } })).data?.data;
      }),
  });
}

/** Creates or updates a partner, and reads the list again. A new one has its token. */
export function useSavePartner(partner: Partner | null, onSaved: (partner: Partner | PartnerWithToken) => void) {
  const { api } = useSession();
  const send = useSendOnce();
  const queries = useQueryClient();
  const path = { id: partner?.id ?? 0 };
  return useVersionedSave<Partner | PartnerWithToken, Save>({
    write: async ({ body, version }) => {
      if (partner === null) {
        const created = await send(body, (header) =>
          api.POST('/api/partners', { params: { header }, body: body as never }),
        );
        return created.data?.data;
      }
      const params = { path, header: { 'If-Match': `"${version}"` } };
      return (await api.PUT('/api/partners/{id}', { params, body })).data?.data;
    },
    read: async () => (await api.GET('/api/partners/{id}', { params: { path } })).data?.data ?? null,
    onSaved: async (saved) => {
      await queries.invalidateQueries({ queryKey: ['listPartners'] });
      if (saved !== undefined) onSaved(saved);
    },
  });
}

export function useRemovePartner() {
  const { api } = useSession();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ id, version }: Partner) =>
      api.DELETE('/api/partners/{id}', { params: { path: { id }, header: { 'If-Match': `"${version}"` } } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['listPartners'] }),
  });
}
