import { Button, Checkbox, Group, Modal, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Group as GroupRecord } from '../../../common/fleet/vehicle.ts';
import { Failure } from '../../../common/ui/states.tsx';
import { useDeleteGroup } from '../queries.ts';

interface DeleteGroupProps {
  readonly group: GroupRecord;
  readonly hasGroupsBelow: boolean;
  readonly onDeleted: () => void;
}

/** Deletes a group after a confirmation, on demand with the groups inside it. */
export function DeleteGroup({ group, hasGroupsBelow, onDeleted }: DeleteGroupProps) {
  const { t } = useTranslation('groups');
  const [isOpen, setIsOpen] = useState(false);
  const [isCascade, setIsCascade] = useState(false);
  const remove = useDeleteGroup(group, onDeleted);
  const close = (): void => setIsOpen(false);
  return (
    <>
      <Button variant="outline" size="xs" color="critical" onClick={() => setIsOpen(true)}>
        {t('common:action.delete')}
      </Button>
      <Modal
        opened={isOpen}
        onClose={close}
        title={t('deleteTitle', { name: group.name })}
        closeButtonProps={{ 'aria-label': t('common:action.close') }}
      >
        <Stack gap="md">
          {remove.isError ? <Failure error={remove.error} /> : null}
          <Text>{t('deleteText')}</Text>
          {hasGroupsBelow ? (
            <Checkbox
              label={t('deleteBelow')}
              description={t('deleteBelowHint')}
              checked={isCascade}
              onChange={({ currentTarget }) => setIsCascade(currentTarget.checked)}
            />
          ) : null}
          <Group justify="flex-end">
            <Button variant="default" data-autofocus onClick={close}>
              {t('common:action.cancel')}
            </Button>
            <Button color="critical" loading={remove.isPending} onClick={() => remove.mutate(isCascade)}>
              {t('common:action.delete')}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
