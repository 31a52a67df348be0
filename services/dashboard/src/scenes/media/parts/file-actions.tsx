import { Button, Group, Modal, Stack } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useCan } from '../../../common/session/session-context.ts';
import { Failure } from '../../../common/ui/states.tsx';
import { type MediaFile, useDeleteFile, useProtect } from '../queries.ts';

// A protected file stays when the storage is full.
export function ProtectButton({ file: { id, protected: isProtected } }: { file: MediaFile }) {
  const { t } = useTranslation('media');
  const can = useCan();
  const protect = useProtect();
  if (!can('fleet')) return null;
  return (
    <Button
      size="compact-sm"
      variant={isProtected ? 'filled' : 'default'}
      aria-pressed={isProtected}
      loading={protect.isPending}
      onClick={() => protect.mutate({ id, isProtected: !isProtected })}
    >
      {t('protect')}
    </Button>
  );
}

/** Deletes a file after a confirmation, because it cannot be undone. */
export function DeleteButton({ id, name }: { id: number; name: string }) {
  const { t } = useTranslation('media');
  const can = useCan();
  const remove = useDeleteFile();
  const [isOpen, setIsOpen] = useState(false);
  if (!can('fleet')) return null;
  return (
    <>
      <Button size="compact-sm" variant="default" onClick={() => setIsOpen(true)}>
        {t('common:action.delete')}
      </Button>
      <Modal opened={isOpen} onClose={() => setIsOpen(false)} title={t('deleteTitle')}>
        <Stack gap="md">
          <span>{t('deleteText', { name })}</span>
          {remove.isError ? <Failure error={remove.error} /> : null}
          <Group justify="flex-end" gap="sm">
            <Button variant="default" onClick={() => setIsOpen(false)}>
              {t('common:action.cancel')}
            </Button>
            <Button
              color="critical"
              loading={remove.isPending}
              onClick={() => remove.mutate(id, { onSuccess: () => setIsOpen(false) })}
            >
              {t('common:action.delete')}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
