import { Button, Code, Group, Modal, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isTypedName, TypedName } from '../../../common/forms/typed-name.tsx';
import { Failure } from '../../../common/ui/states.tsx';
import type { NewCommand, useSendCommand } from './use-commands.ts';

interface ConfirmCommandProps {
  readonly vehicleNo: string;
  readonly command: NewCommand;
  /** A critical command requires the number of the vehicle. */
  readonly isCritical: boolean;
  readonly send: ReturnType<typeof useSendCommand>;
  readonly onClose: () => void;
}

/** Shows what will be sent, and sends it after a confirmation. */
export function ConfirmCommand({ vehicleNo, command, isCritical, send, onClose }: ConfirmCommandProps) {
  const { t } = useTranslation('vehicle');
  const [typed, setTyped] = useState('');
  const isConfirmed = !isCritical || isTypedName(vehicleNo, typed);
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('commands.confirmTitle', { command: t(`command.${command.type}`), vehicle: vehicleNo })}
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      <Stack gap="sm">
        <Text>{t(isCritical ? 'commands.criticalText' : 'commands.confirmText')}</Text>
        <Code block>{JSON.stringify(command.params, null, 2)}</Code>
        {isCritical ? <TypedName name={vehicleNo} value={typed} onChange={setTyped} /> : null}
        {send.isError ? <Failure error={send.error} /> : null}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t('common:action.cancel')}
          </Button>
          <Button
            color={isCritical ? 'critical' : 'action'}
            disabled={!isConfirmed}
            loading={send.isPending}
            onClick={() => send.mutate(command)}
          >
            {t('commands.send')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
