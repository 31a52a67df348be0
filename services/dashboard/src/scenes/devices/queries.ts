import { ApiFailure, type components } from '@fleet/api-client';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { readAllPages } from '../../common/fleet/queries.ts';
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

/** Returns the mutations of mining devices. Each reads the list again. */
export function useMiningChanges() {
  const { api } = useSession();
  const queries = useQueryClient();
  const onSuccess = () => queries.invalidateQueries({ queryKey: ['listMiningDevices'] });
  const create = useMutation({
    mutationFn: ({ key, body }: { key: string; body: { imei: string } & Record<string, unknown> }) =>
      api.POST('/api/mining-devices', { body, params: { header: { 'Idempotency-Key': key } } }),
    onSuccess,
  });
  const update = useMutation({
    mutationFn: ({ device, body }: { device: MiningDevice; body: Record<string, unknown> }) => {
      const params = { path: { id: device.id }, header: { 'If-Match': `"${device.version}"` } };
      return api.PUT('/api/mining-devices/{id}', { params, body });
    },
    onSuccess,
  });
  const remove = useMutation({
    mutationFn: (device: MiningDevice) => {
      const params = { path: { id: device.id }, header: { 'If-Match': `"${device.version}"` } };
      return api.DELETE('/api/mining-devices/{id}', { params });
    },
    onSuccess,
  });
  return { create, update, remove };
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

/** Returns the mutations of partners. Each reads the list again. */
export function usePartnerChanges() {
  const { api } = useSession();
  const queries = useQueryClient();
  const onSuccess = () => queries.invalidateQueries({ queryKey: ['listPartners'] });
  const create = useMutation({
    mutationFn: async ({ key, body }: { key: string; body: { name: string } & Record<string, unknown> }) =>
      (await api.POST('/api/partners', { body, params: { header: { 'Idempotency-Key': key } } })).data?.data,
    onSuccess,
  });
  const update = useMutation({
    mutationFn: ({ partner, body }: { partner: Partner; body: Record<string, unknown> }) => {
      const params = { path: { id: partner.id }, header: { 'If-Match': `"${partner.version}"` } };
      return api.PUT('/api/partners/{id}', { params, body });
    },
    onSuccess,
  });
  const remove = useMutation({
    mutationFn: (partner: Partner) => {
      const params = { path: { id: partner.id }, header: { 'If-Match': `"${partner.version}"` } };
      return api.DELETE('/api/partners/{id}', { params });
    },
    onSuccess,
  });
  return { create, update, remove };
}
