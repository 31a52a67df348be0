import { Button, Checkbox, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { createIdempotencyKey } from '../forms/idempotency-key.ts';
import { useSession } from '../session/session-context.ts';
import { Failure } from '../ui/states.tsx';

/** `view` is always included. */
const permissions = ['notifications', 'live_video', 'history_video', 'commands'] as const;
type Permission = (typeof permissions)[number];

const days = ['', '1', '7', '30', '365'] as const;
const dayMs = 86_400_000;

/** Shares vehicles with a user, who is found by the exact phone number and shown masked. */
export function ShareForm({ vehicleIds, onShared }: { vehicleIds: readonly number[]; onShared?: () => void }) {
  const { t } = useTranslation('sharing');
  const { api } = useSession();
  const queries = useQueryClient();
  const [phone, setPhone] = useState('');
  const [granted, setGranted] = useState<readonly Permission[]>(['notifications']);
  const [validDays, setValidDays] = useState('');
  const find = useMutation({
    mutationFn: async () =>
      (await api.POST('/api/vehicle/search-user-for-share', { body: { phone_number: phone } })).data?.data,
  });
  const share = useMutation({
    mutationFn: (userId: number) => {
      const expiresAt = validDays === '' ? null : new Date(Date.now() + Number(validDays) * dayMs).toISOString();
      const body = {
        secondary_user: userId,
        vehicles: [...vehicleIds],
        permissions: ['view' as const, ...granted],
        expires_at: expiresAt,
      };
      const params = { header: { 'Idempotency-Key': createIdempotencyKey() } };
      return api.POST('/api/vehicle/share-vehicles', { body, params });
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['listSharedUsers'] });
      setPhone('');
      find.reset();
      onShared?.();
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    find.mutate();
  };
  const user = find.data;
  return (
    <Stack gap="sm">
      <form onSubmit={submit}>
        <Group align="flex-end" gap="sm">
          <TextInput
            label={t('phone')}
            description={t('phoneHint')}
            type="tel"
            required
            value={phone}
            onChange={({ currentTarget }) => setPhone(currentTarget.value)}
          />
          <Button type="submit" variant="default" loading={find.isPending}>
            {t('find')}
          </Button>
        </Group>
      </form>
      {find.isError ? <Failure error={find.error} /> : null}
      {user === undefined ? null : (
        <>
          <Text>{t('found', { name: user.name, phone: user.phone_number })}</Text>
          <Checkbox.Group label={t('permissions')} value={[...granted]} onChange={(value) => setGranted(value)}>
            <Stack gap="xs" mt="xs">
              {permissions.map((name) => (
                <Checkbox key={name} value={name} label={t(`permission.${name}`)} />
              ))}
            </Stack>
          </Checkbox.Group>
          <NativeSelect
            label={t('expires')}
            data={days.map((value) => ({
              value,
              label: value === '' ? t('never') : t('days', { count: Number(value) }),
            }))}
            value={validDays}
            onChange={({ currentTarget }) => setValidDays(currentTarget.value)}
          />
          {share.isError ? <Failure error={share.error} /> : null}
          <Button loading={share.isPending} disabled={vehicleIds.length === 0} onClick={() => share.mutate(user.id)}>
            {t('share')}
          </Button>
        </>
      )}
    </Stack>
  );
}
