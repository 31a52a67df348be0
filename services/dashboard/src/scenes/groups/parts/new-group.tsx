import { Button, Modal, NativeSelect, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { NamedGroup } from '../../../common/fleet/folder-tree.ts';
import { toFieldErrors } from '../../../common/forms/faults.ts';
import { FormButtons } from '../../../common/forms/form-buttons.tsx';
import { useFormErrors } from '../../../common/forms/use-form-errors.ts';
import { Failure } from '../../../common/ui/states.tsx';
import { useCreateGroup } from '../queries.ts';
import { useGroupOptions } from '../use-group-options.ts';

interface NewGroupProps {
  readonly groups: readonly NamedGroup[];
  /** The group that is open; the new one is inside it by default. */
  readonly parentId: number | null;
  readonly onCreated: (id: number) => void;
}

/** Creates a group after the name was entered. */
export function NewGroup(props: NewGroupProps) {
  const { t } = useTranslation('groups');
  const [isOpen, setIsOpen] = useState(false);
  const close = (): void => setIsOpen(false);
  return (
    <>
      <Button onClick={() => setIsOpen(true)}>{t('add')}</Button>
      <Modal
        opened={isOpen}
        onClose={close}
        title={t('add')}
        closeButtonProps={{ 'aria-label': t('common:action.close') }}
      >
        <NewGroupForm {...props} onClose={close} />
      </Modal>
    </>
  );
}

function NewGroupForm({ groups, parentId, onCreated, onClose }: NewGroupProps & { readonly onClose: () => void }) {
  const { t } = useTranslation('groups');
  const findErrors = useFormErrors('createVehicleGroup');
  const options = useGroupOptions(groups);
  const create = useCreateGroup();
  const form = useForm({
    initialValues: { name: '', parent_group: parentId === null ? '' : String(parentId) },
    validate: ({ name }) => findErrors({ name: name.trim() }),
  });
  const submit = form.onSubmit(({ name, parent_group: parent }) => {
    const group = { name: name.trim(), parentId: parent === '' ? null : Number(parent) };
    create.mutate(group, {
      onSuccess: (created) => {
        onClose();
        if (created !== undefined) onCreated(created.id);
      },
      onError: (error) => form.setErrors(toFieldErrors(error)),
    });
  });
  const hasFieldFault = Object.keys(toFieldErrors(create.error)).length > 0;
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm">
        <TextInput data-autofocus label={t('field.name')} required maxLength={100} {...form.getInputProps('name')} />
        <NativeSelect label={t('field.parent_group')} data={options} {...form.getInputProps('parent_group')} />
        {create.isError && !hasFieldFault ? <Failure error={create.error} /> : null}
        <FormButtons isSaving={create.isPending} onCancel={onClose} />
      </Stack>
    </form>
  );
}
