;;; adapter.el --- The adapter of einlass.el for protocol/conformance  -*- lexical-binding: t -*-

;; python3 protocol/conformance client emacs -Q --batch -l clients/emacs/einlass.el -l Tests/Clients/emacs/adapter.el

(defun adapter-print (line)
  (princ (concat (decode-coding-string (json-serialize line :null-object :null :false-object :json-false) 'utf-8) "\n")))

(defun adapter-outcome (result problem)
  (let ((code (plist-get (plist-get problem :data) :exitCode)))
    (cond (code (list :ended code)) (problem (list :error problem)) (t (list :result result)))))

(defun adapter-wait (ready)
  (let (found)
    (while (not (setq found (funcall ready)))
      (accept-process-output nil 0.01))
    found))

(let* ((line (read-string ""))
       (task (json-parse-string line :object-type 'plist :null-object nil :false-object :json-false))
       ;; A plist cannot tell {} from null, so the params are hash tables.
       (params-of (lambda (name)
                    (seq-some (lambda (step) (and (equal (gethash "request" step) name) (gethash "params" step)))
                              (gethash "steps" (json-parse-string line :null-object nil :false-object :json-false)))))
       (heard nil) (answers nil)
       (connection
        (progn
          (setq einlass-show-function #'ignore
                einlass--kinds (plist-get (plist-get (plist-get task :initialize) :capabilities) :prompts))
          (add-hook 'einlass-notification-functions
                    (lambda (method params) (setq heard (append heard (list (cons (symbol-name method) params))))))
          (condition-case problem
              (einlass--open (plist-get task :initialize))
            (einlass-error (adapter-print (adapter-outcome nil (einlass--problem problem))) nil)))))
  (setq einlass--running connection)
  (when connection
    (seq-doseq (step (plist-get task :steps))
      (pcase step
        (`(:request ,name :method ,method . ,_)
         (let ((answer (list name nil nil)))
           (push answer answers)
           (setf (nth 2 answer)
                 (einlass--send connection (intern method) (funcall params-of name)
                                (lambda (result problem) (setf (nth 1 answer) (adapter-outcome result problem)))))))
        (`(:await ,name)
         (adapter-print (adapter-wait (lambda () (nth 1 (assoc name answers))))))
        (`(:cancel ,name) (einlass--cancel connection (nth 2 (assoc name answers))))
        (`(:hear ,method)
         (let ((notification (adapter-wait (lambda () (assoc method heard)))))
           (setq heard (delq notification heard))
           (adapter-print (list :method method :params (cdr notification)))))
        ((and (app (lambda (step) (plist-get step :answer)) id) (guard id))
         (let* ((prompt (adapter-wait (lambda () (einlass--prompt connection id))))
                (members (cl-copy-list (plist-get step :with)))
                (action (plist-get members :action)))
           (cl-remf members :action)
           (apply #'einlass-answer prompt action members)))))
    (einlass--close connection)))
