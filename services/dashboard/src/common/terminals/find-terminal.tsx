import { Button, Modal, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../session/session-context.ts';
import { Age } from '../ui/age.tsx';
import { Facts } from '../ui/facts.tsx';
import { Failure } from '../ui/states.tsx';

/** Finds a terminal that connects and belongs to no vehicle, by its exact number. */
export function FindTerminal({ onFound, onClose }: { onFound: (imei: string) => void; onClose: () => void }) {
  const { t } = useTranslation('terminals');
  const { api } = useSession();
  const [imei, setImei] = useState('');
  const lookup = useMutation({
    mutationFn: async () => (await api.POST('/api/unassigned-devices/lookup', { body: { imei } })).data?.data,
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    lookup.mutate();
  };
  const device = lookup.data;
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('find.title')}
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      <form onSubmit={submit}>
        <Stack gap="sm">
          <TextInput
            data-autofocus
            label={t('terminal')}
            description={t('terminalHint')}
            required
            inputMode="numeric"
            value={imei}
            onChange={({ currentTarget }) => setImei(currentTarget.value)}
          />
          <Button type="submit" variant="default" loading={lookup.isPending}>
            {t('find.lookUp')}
          </Button>
          {lookup.isError ? <Failure error={lookup.error} /> : null}
          {device === undefined ? null : (
            <>
              <Facts
                facts={[
                  [t('model'), [device.manufacturer, device.model].filter(Boolean).join(' ') || '–'],
                  [t('find.plate'), device.plate ?? '–'],
                  [t('find.lastSeen'), <Age key="seen" timeMs={Date.parse(device.last_seen)} />],
                ]}
              />
              <Button onClick={() => onFound(device.imei)}>{t('find.add')}</Button>
            </>
          )}
        </Stack>
      </form>
    </Modal>
  );
}
