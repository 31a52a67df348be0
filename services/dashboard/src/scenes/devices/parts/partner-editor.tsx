import { useForm } from '@mantine/form';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toFieldErrors } from '../../../common/forms/faults.ts';
import { useFormErrors } from '../../../common/forms/use-form-errors.ts';
import { type PartnerForm, toBody, toChange, toForm } from '../partner-form.ts';
import { type Partner, type PartnerWithToken, useRemovePartner, useSavePartner } from '../queries.ts';
import { DeleteRecord } from './delete-record.tsx';
import { EditorDrawer } from './editor-drawer.tsx';
import { PartnerConflict } from './partner-conflict.tsx';
import { PartnerFields } from './partner-fields.tsx';

interface PartnerEditorProps {
  /** Null for a new partner. */
  readonly partner: Partner | null;
  readonly onCreated: (partner: PartnerWithToken) => void;
  readonly onClose: () => void;
}

/** Adds a partner, or edits and deletes one. */
export function PartnerEditor({ partner, onCreated, onClose }: PartnerEditorProps) {
  const { t } = useTranslation('devices');
  const [base, setBase] = useState(partner);
  const findErrors = useFormErrors(partner === null ? 'createPartner' : 'updatePartner');
  const { save, stored, discard } = useSavePartner(partner, (saved) => {
    if ('token' in saved) onCreated(saved);
    onClose();
  });
  const form = useForm<PartnerForm>({
    initialValues: toForm(partner),
    validate: (values) => findErrors(toBody(values, base)),
  });
  const saveOver = (version: number): void => {
    const body = base === null ? toBody(form.values, null) : toChange(form.values, base);
    const onError = (error: Error): void => form.setErrors(toFieldErrors(error));
    save.mutate({ body, version }, { onError });
  };
  const takeTheirs = (theirs: Partner): void => {
    setBase(theirs);
    form.setValues(toForm(theirs));
    discard();
  };
  return (
    <EditorDrawer
      title={partner === null ? t('partners.add') : t('editOf', { name: partner.name })}
      error={save.error}
      conflict={
        stored === null || base === null ? null : (
          <PartnerConflict
            base={base}
            mine={form.values}
            stored={stored}
            isSaving={save.isPending}
            onKeepMine={() => saveOver(stored.version)}
            onTakeTheirs={() => takeTheirs(stored)}
          />
        )
      }
      deletion={base === null ? null : <PartnerDeletion partner={base} onClose={onClose} />}
      isSaving={save.isPending}
      onSubmit={form.onSubmit(() => saveOver(base?.version ?? 0))}
      onClose={onClose}
    >
      <PartnerFields form={form} partner={base} />
    </EditorDrawer>
  );
}

function PartnerDeletion({ partner, onClose }: { partner: Partner; onClose: () => void }) {
  const { t } = useTranslation('devices');
  const remove = useRemovePartner();
  return (
    <DeleteRecord
      text={t('partners.deleteText')}
      error={remove.error}
      isRunning={remove.isPending}
      onDelete={() => remove.mutate(partner, { onSuccess: onClose })}
    />
  );
}
