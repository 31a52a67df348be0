import { Button, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isTypedName, TypedName } from '../../../common/forms/typed-name.tsx';
import { useCan } from '../../../common/session/session-context.ts';
import { Failure } from '../../../common/ui/states.tsx';
import { useClearMiningData } from '../queries.ts';

/** The word that the API requires. */
const confirmation = 'CLEAR';

/** Deletes positions and heartbeats of mining devices after a word was typed. Only owners and administrators see it. */
export function ClearMiningData() {
  const { t } = useTranslation('devices');
  const can = useCan();
  const [isOpen, setIsOpen] = useState(false);
  const close = (): void => setIsOpen(false);
  if (!can('administration')) return null;
  return (
    <>
      <Button variant="outline" color="critical" onClick={() => setIsOpen(true)}>
        {t('clear.open')}
      </Button>
      <Modal
        opened={isOpen}
        onClose={close}
        title={t('clear.open')}
        closeButtonProps={{ 'aria-label': t('common:action.close') }}
      >
        <ClearForm onClose={close} />
      </Modal>
    </>
  );
}

function ClearForm({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation('devices');
  const [imei, setImei] = useState('');
  const [before, setBefore] = useState('');
  const [typed, setTyped] = useState('');
  const clear = useClearMiningData();
  if (clear.data !== undefined)
    return (
      <Stack gap="md">
        <Text role="status">
          {t('clear.done', { positions: clear.data.locations_deleted, heartbeats: clear.data.heartbeats_deleted })}
        </Text>
        <Button onClick={onClose}>{t('common:action.close')}</Button>
      </Stack>
    );
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        clear.mutate({ imei: imei.trim(), before });
      }}
      noValidate
    >
      <Stack gap="sm">
        <Text>{t('clear.text')}</Text>
        <TextInput
          data-autofocus
          label={t('clear.imei')}
          description={t('clear.imeiHint')}
          inputMode="numeric"
          value={imei}
          onChange={({ currentTarget }) => setImei(currentTarget.value)}
        />
        <TextInput
          type="date"
          label={t('clear.before')}
          description={t('clear.beforeHint')}
          value={before}
          onChange={({ currentTarget }) => setBefore(currentTarget.value)}
        />
        <TypedName name={confirmation} value={typed} onChange={setTyped} />
        {clear.isError ? <Failure error={clear.error} /> : null}
        <Button type="submit" color="critical" loading={clear.isPending} disabled={!isTypedName(confirmation, typed)}>
          {t('clear.submit')}
        </Button>
      </Stack>
    </form>
  );
}
